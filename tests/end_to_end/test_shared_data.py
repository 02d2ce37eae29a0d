"""The public data sets load, with the counts that plain line counting gives, and are counted."""

import re
from collections import Counter

import pytest

from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.loading import load, modes_text
from hornbeam.logic.parse import parse_clause
from public_data import DATA, needs

pytestmark = needs()

SPLIT_FOLDERS = [
    *(f"uwcse/fold{number}" for number in range(1, 6)),
    *(f"webkb/fold{number}" for number in range(1, 5)),
    *(f"imdb/Fold{number}" for number in range(1, 6)),
    *("citeseer/fold1", "toy_cancer", "toy_father", "toy_machines"),
    *(f"boostsrl_files/{name}" for name in ("IMDB", "Toy-Cancer", "UW-CSE", "WebKB")),
]
CASES = [(folder, split) for folder in SPLIT_FOLDERS for split in ("train", "test")]
CASES += [("movielens_paper", None), ("mutagenesis", None)]


def lines(folder: str, split: str | None, kind: str) -> Counter[str]:
    """How often each atom stands in a file, found by a means of the test's own: one atom a line."""
    name = f"{kind}.txt" if split is None else f"{split}/{split}_{kind}.txt"
    found = Counter()
    for line in (DATA / folder / name).read_text().splitlines():
        if re.match(r"\s*\w+\s*\(", line):
            predicate, arguments = line.split("(", 1)
            found[predicate.strip().lower() + "(" + arguments.replace(" ", "")] += 1
    return found


def predicate(atom: str) -> str:
    return atom.split("(")[0]


@pytest.mark.parametrize(("folder", "split"), CASES)
def test_facts_and_examples_are_those_of_the_files(folder, split):
    database = load(DATA / folder, split)
    facts = Counter(map(predicate, lines(folder, split, "facts")))
    if folder == "boostsrl_files/UW-CSE":
        # These two stand in the background.
        facts |= {"position": 4, "phase": 3}
    assert {name: len(relation) for name, relation in database.relations.items()} == facts
    positive, negative = lines(folder, split, "pos"), lines(folder, split, "neg")
    wanted = Counter(map(predicate, positive)), Counter(map(predicate, set(negative) - set(positive)))
    found = Counter(), Counter()
    for target, examples in database.example_sets.items():
        found[0][target] = int((examples.labels == 1).sum())
        found[1][target] = int((examples.labels == 0).sum())
        assert (examples.labels[:-1] >= examples.labels[1:]).all()
    assert (+found[0], +found[1]) == wanted


@pytest.mark.parametrize(
    ("folder", "split", "target", "positives", "negatives", "facts"),
    [
        ("uwcse/fold1", "train", "advisedby", 97, 52_344, 2_095),
        ("webkb/fold1", "train", "faculty", 107, 444, 1_439),
        ("citeseer/fold1", "train", "infield_ftitle", 9_565, 22_159, None),
        ("movielens_paper", None, "female", 272, 669, 86_235),
        ("mutagenesis", None, "active", 125, 63, 20_272),
    ],
)
def test_numbers_known_from_their_description(folder, split, target, positives, negatives, facts):
    database = load(DATA / folder, split)
    labels = database.examples_of(target).labels
    assert (int(labels.sum()), int((labels == 0).sum())) == (positives, negatives)
    if facts is not None:
        assert sum(map(len, database.relations.values())) == facts


@pytest.mark.parametrize(
    ("folder", "split", "text"),
    [
        ("uwcse/fold1", "test", "advisedby(A,B) :- publication(C,A), publication(C,B), professor(B)."),
        ("boostsrl_files/UW-CSE", "test", "advisedby(A,B) :- ta(C,A,D), taughtby(C,B,D)."),
        ("webkb/fold1", "test", "faculty(A) :- courseprof(B,A), courseta(B,C)."),
        ("boostsrl_files/WebKB", "test", "faculty(A) :- project(B,A), not student(A)."),
        ("imdb/Fold1", "test", "workedunder(A,B) :- movie(C,A), movie(C,B), director(B)."),
        ("boostsrl_files/IMDB", "test", "female_gender(A) :- workedunder(A,B), genre(B,C)."),
        ("toy_cancer", "train", "cancer(A) :- friends(A,B), smokes(B)."),
        ("boostsrl_files/Toy-Cancer", "train", "cancer(A) :- friends(A,B), smokes(B)."),
        ("toy_father", "train", "father(A,B) :- childof(B,A), male(A)."),
        ("toy_machines", "train", "machine(A,B) :- worn(A,C), irreplaceable(C)."),
        ("citeseer/fold1", "test", "infield_fauthor(A) :- isbibpos(A,B,C), hascomma(B,C)."),
        ("movielens_paper", None, "female(A) :- rated(A,B), genre(B,romance)."),
        ("mutagenesis", None, "active(A) :- hasatom(A,B), element(B,n)."),
    ],
)
def test_every_data_set_is_counted(folder, split, text):
    """The first, the middle and the last example agree with nested loops over the populations."""
    database = load(DATA / folder, split)
    clause = parse_clause(text, database.schema)
    keys = database.examples_of(clause.head.predicate).keys
    (counts,) = counter_of(MemoryEngine(database)).count([clause], keys)
    assert counts.true.sum() > 0
    some = [0, len(keys) // 2, len(keys) - 1]
    (naive,) = counter_of(NaiveEngine(database)).count([clause], keys[some])
    assert (counts.true[some].tolist(), counts.total) == (naive.true.tolist(), naive.total)


@pytest.mark.parametrize("folder", ["movielens_paper", "mutagenesis"])
def test_inferred_modes_are_read_back_from_a_file(folder, tmp_path):
    database = load(DATA / folder)
    for kind in ("facts", "pos", "neg"):
        (tmp_path / f"{kind}.txt").symlink_to(DATA / folder / f"{kind}.txt")
    (tmp_path / "background.txt").write_text(modes_text(database))
    again = load(tmp_path)
    assert again.modes == database.modes
    assert {name: len(each) for name, each in again.populations.items()} == {
        name: len(each) for name, each in database.populations.items()
    }
    assert again.notices == ()


def test_what_boostsrl_files_say_and_we_do_not_use_is_said():
    said = [str(notice) for notice in load(DATA / "boostsrl_files" / "UW-CSE").notices]
    kinds = [re.sub(r".*?:\d+:\d+: | not used.*| of .*| but without facts.*", "", line) for line in said]
    assert kinds == [
        *("setParam", "importLibrary", "queryPred", "! in a mode", "okIfUnknown", "usePrologVariables"),
        *("precompute", "precompute1", "precompute2", "predicates with a mode", "2 examples"),
    ]
