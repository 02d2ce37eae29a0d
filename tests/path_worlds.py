"""Random worlds with a link to many and attributes of the things it leads to, as tables have them."""

from __future__ import annotations

from math import inf

import numpy as np
from hypothesis import strategies as st

from effect_bodies import TallyCase
from hornbeam.data.build import build
from hornbeam.engines.tally import DAY, TallyRequest
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, NumberOf, Recent
from hornbeam.logic.schema import DATE, NUMBER, Schema
from strategies import TARGET, with_cutoffs

SCHEMA = Schema(
    {
        TARGET: ("user",),
        "order": ("user", "item"),
        "price": ("item", "money"),
        "kind": ("item", "sort"),
        "sold": ("item",),
        "maker": ("item", "firm"),
        "land": ("firm", "country"),
        "rated": ("user", "item", "stars"),
        "like": ("item", "item"),
    },
    {"money": NUMBER, "stars": NUMBER},
)
TIMED = ("order", "price", "rated", "like")
HEAD = Atom(TARGET, (0,))
ORDER, MAKER = Atom("order", (0, 1)), Atom("maker", (1, 2))
PATHS: tuple[Body, ...] = (
    (ORDER,),
    (Recent(ORDER, last=2),),
    (Recent(ORDER, within=1.5),),
    (ORDER, MAKER, Atom("maker", (3, 2))),
    (Recent(ORDER, last=1), MAKER, Atom("maker", (3, 2))),
    (Recent(Atom("order", (4, 1)), within=2.0),),
)
TAILS: tuple[tuple[Body, tuple[int, ...]], ...] = (
    ((), ()),
    ((), (1,)),
    ((Atom("price", (1, 9)),), (9,)),
    ((Atom("kind", (1, 9)),), (9,)),
    ((Atom("sold", (1,)),), ()),
    ((Atom("maker", (1, 9)), Atom("land", (9, 8))), (8,)),
    ((Atom("maker", (1, 9)), Atom("land", (9, 8))), (9, 8)),
    ((Atom("rated", (0, 1, 9)),), (9,)),
    ((Atom("like", (1, 1)),), ()),
    ((NumberOf(9, Atom("like", (1, 8))),), (9,)),
    ((NumberOf(9, Atom("order", (8, 1))),), (9, 1)),
    ((Atom("sold", (1,)), Atom("price", (1, 9))), (9, 0)),
)
"""What a path asks about the things it leads to: steps, and the variables whose values are wanted."""
TIMES = st.sampled_from((1.0, 2.0, 2.0, 3.0, 5.0, inf))


@st.composite
def path_cases(draw: st.DrawFn) -> TallyCase:
    """The requests of one path, for some users with cut-offs or without."""
    users, items, firms = (st.sampled_from([f"{letter}{n}" for n in range(3)]) for letter in "uif")
    one_each = {
        "price": st.sampled_from(("1", "2.5", "-3", "1e300", "5e-324")),
        "kind": st.sampled_from(("k", "it's", "7")),
        "maker": firms,
    }
    rows: dict[str, list[tuple[str, ...]]] = {
        name: list(draw(st.dictionaries(items, values)).items()) for name, values in one_each.items()
    }
    rows["land"] = list(draw(st.dictionaries(firms, st.sampled_from(("fr", "it")))).items())
    rows["sold"] = [(item,) for item in sorted(draw(st.sets(items)))]
    rows["order"] = sorted(draw(st.sets(st.tuples(users, items))))
    rows["like"] = sorted(draw(st.sets(st.tuples(items, items))))
    stars = draw(st.dictionaries(st.tuples(users, items), st.sampled_from(("1", "5"))))
    rows["rated"] = [(*pair, number) for pair, number in stars.items()]
    facts = {
        name: [list(column) for column in zip(*each, strict=True)] for name, each in rows.items() if each
    }
    times = {
        name: draw(st.lists(TIMES, min_size=len(rows[name]), max_size=len(rows[name])))
        for name in TIMED
        if name in facts
    }
    if not draw(st.booleans()):
        times = {}
    ranges = {"user": ["u0", "u1", "u2"], "item": ["i0", "i1", "i2"]}
    origin = {"times": DATE} if draw(st.booleans()) else {}
    unit = DAY if origin else 1.0
    times = {name: [unit * time for time in each] for name, each in times.items()}
    database = build(SCHEMA, (), facts, {}, times=times, ranges=ranges, origin=origin)
    codes = draw(st.lists(st.integers(-1, 2), min_size=1, max_size=5))
    cutoffs = draw(st.lists(TIMES, min_size=len(codes), max_size=len(codes)))
    at = np.array([unit * each for each in cutoffs])
    keys = with_cutoffs(database, np.array(codes, dtype=np.int32)[:, None], at)
    path = draw(st.sampled_from(PATHS))
    asked = draw(st.lists(st.tuples(st.sampled_from(TAILS), st.booleans()), min_size=2, max_size=6))
    requests = [TallyRequest(HEAD, (*path, *steps), wanted, timed) for (steps, wanted), timed in asked]
    return TallyCase(database, tuple(dict.fromkeys(requests)), keys)
