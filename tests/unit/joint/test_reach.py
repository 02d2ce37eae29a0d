"""What things reach: products of links equal the counts of the naive engine, without the thing itself."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.naive import NaiveEngine
from hornbeam.joint.neighbours import chain_of, reach_of
from hornbeam.joint.things import JointTarget, things_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

SCHEMA = Schema(
    {
        "topic": ("paper",),
        "field": ("author",),
        "pair": ("paper", "author"),
        "cites": ("paper", "paper"),
        "wrote": ("author", "paper", "year"),
    }
)
CHAINS = (
    "topic(A) :- cites(A,B), topic(B).",
    "topic(A) :- cites(B,A), cites(B,C), topic(C).",
    "topic(A) :- wrote(B,A,C), wrote(B,D,E), topic(D).",
    "topic(A) :- wrote(B,A,C), field(B).",
    "topic(A) :- pair(A,B).",
    "field(A) :- wrote(A,B,C), cites(B,D), wrote(E,D,F), field(E).",
    "pair(A,B) :- topic(A).",
    "pair(A,B) :- pair(A,C).",
    "pair(A,B) :- wrote(B,C,D), pair(C,E).",
    "pair(A,B) :- cites(A,C), pair(C,D).",
)
PAPERS = [f"p{n}" for n in range(4)]
AUTHORS = [f"a{n}" for n in range(3)]
papers, authors, years = st.sampled_from(PAPERS), st.sampled_from(AUTHORS), st.sampled_from(["1", "2"])


def columns(rows, width):
    return [list(column) for column in zip(*sorted(rows), strict=True)] if rows else [[]] * width


@given(
    st.sets(st.tuples(papers, papers), max_size=8),
    st.sets(st.tuples(authors, papers, years), max_size=8),
    st.sets(st.tuples(papers, authors), min_size=1, max_size=6),
    st.sampled_from(CHAINS),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=25)
def test_reach_equals_the_counts_of_the_naive_engine(cites, wrote, pairs, text, random):
    labels = {name: [random.random() < 0.5 for _ in names] for name, names in (("p", PAPERS), ("a", AUTHORS))}
    true_pairs = [pair for pair in sorted(pairs) if random.random() < 0.5]
    facts = {
        "cites": columns(cites, 2),
        "wrote": columns(wrote, 3),
        "topic": [[name for name, label in zip(PAPERS, labels["p"], strict=True) if label]],
        "field": [[name for name, label in zip(AUTHORS, labels["a"], strict=True) if label]],
        "pair": columns(true_pairs, 2),
    }
    ranges = {"paper": PAPERS, "author": AUTHORS, "year": ["1", "2"]}
    examples = {"pair": (sorted(pairs), [1] * len(pairs))}
    database = build(SCHEMA, (), facts, examples, ranges)
    clause = parse_clause(text, SCHEMA)
    chain = chain_of(clause)
    assert chain is not None
    things, others = (
        things_of(database, JointTarget(name), None) for name in (clause.head.predicate, chain.target)
    )
    reach = reach_of(database, chain, things, others)
    truth = np.zeros((len(others), 1))
    for row in zip(*(column.tolist() for column in database.relation(chain.target).columns), strict=True):
        truth[others.places_of(np.array([row], dtype=np.int32))] = 1.0
    found = (reach @ truth)[:, 0]
    counted = counter_of(NaiveEngine(database)).count([clause], things.keys)[0].true.astype(float)
    if chain.target == clause.head.predicate:
        for place in range(len(things)):
            # Without the fact about the thing itself.
            only = np.zeros_like(truth)
            only[place] = truth[place]
            alone = {
                **facts,
                chain.target: columns(
                    [tuple(database.names_of(chain.target, things.keys[place : place + 1])[0])]
                    if truth[place]
                    else [],
                    things.keys.shape[1],
                ),
            }
            own = build(SCHEMA, (), alone, examples, ranges)
            names = database.names_of(chain.target, things.keys[place : place + 1])
            keys = own.encode_keys(chain.target, names)
            counted[place] -= counter_of(NaiveEngine(own)).count([clause], keys)[0].true[0]
            assert reach.row(place)[place] == 0.0
            assert (reach @ only)[place, 0] == 0.0
    assert found.tolist() == counted.tolist()
    for place in range(len(things)):
        assert float(reach.row(place) @ truth[:, 0]) == found[place]


def test_bodies_that_are_no_chains():
    for text in (
        "topic(A) :- cites(A,B), cites(B,A), topic(B).",
        "topic(A) :- cites(A,A), topic(A).",
        "topic(A) :- cites(B,C), topic(C).",
        "pair(A,B) :- cites(A,C), pair(C,B).",
        "topic(A) :- cites(A,B), wrote(C,B,D), topic(B).",
    ):
        assert chain_of(parse_clause(text, SCHEMA)) is None, text
