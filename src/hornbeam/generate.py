"""Seeded worlds with a known truth, of any size: data for demonstrations, tests and benchmarks.

Each world is drawn from a stated model: its labels are coin flips with the probabilities that the
model gives, so nothing can rank the examples better than the truth does. The same arguments give
the same world. Another seed gives another world with the same truth: data to test on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.clauses import AT_LEAST, Atom, Clause, Comparison, head_atom
from hornbeam.database import Codes, Database, Examples, Population, Relation
from hornbeam.errors import OptionError
from hornbeam.model import Model, WeightedClause, sigmoid
from hornbeam.modes import Argument, Kind, Mode, schema_of
from hornbeam.numeric import numbers_of
from hornbeam.relations import Numbered
from hornbeam.schema import NUMBER, Schema

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def _modes(text: Sequence[str]) -> tuple[Mode, ...]:
    """Modes from a compact notation of this module: ``"friends +person -person"``."""
    return tuple(
        Mode(predicate, tuple(Argument(Kind(word[0]), word[1:]) for word in words))
        for predicate, *words in map(str.split, text)
    )


def _check(name: str, value: float, low: float, high: float = float("inf")) -> None:
    if not low <= value <= high:
        limits = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise OptionError(f"{name} is {value:g}, but must be {limits}.")


def _labelled(rng: np.random.Generator, target: str, keys: Codes, probability: Floats) -> Examples:
    """One coin flip per key; positives first, then negatives, each in the order of the keys."""
    label = rng.random(len(keys)) < probability
    ordered = np.concatenate([keys[label], keys[~label]])
    labels = np.zeros(len(keys), dtype=np.int8)
    labels[: np.count_nonzero(label)] = 1
    return Examples(target, ordered, labels)


def _database(
    modes: tuple[Mode, ...],
    populations: Mapping[str, Population],
    facts: Mapping[str, Sequence[npt.NDArray[Any]]],
    numeric: Mapping[str, str] = MappingProxyType({}),
) -> Database:
    schema = Schema(schema_of(modes).predicates, dict(numeric))
    relations = {
        predicate: Relation.of(columns, [len(populations[t]) for t in schema.types_of(predicate)])
        for predicate, columns in facts.items()
    }
    numbers = {name: numbers_of(populations[name].names, kind, name) for name, kind in numeric.items()}
    return Database(
        schema,
        modes,
        MappingProxyType(dict(populations)),
        MappingProxyType(relations),
        numbers=MappingProxyType(numbers),
    )


def _with_examples(database: Database, examples: Examples) -> Database:
    return replace(database, example_sets=MappingProxyType({examples.target: examples}))


def _truth(
    weights: tuple[float, float],
    clause: Clause,
    modes: tuple[Mode, ...],
    numeric: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    # w2 is 0, so the total plays no part and the truth is the same for worlds of every size.
    weighted = WeightedClause(clause, (weights[0], weights[1], 0.0), total=1)
    schema = Schema(schema_of(modes).predicates, dict(numeric))
    return Model(clause.head.predicate, schema, prior=0.0, clauses=(weighted,))


def _probability(truth: Model, counts: Integers) -> Floats:
    (weighted,) = truth.clauses
    return sigmoid(truth.prior + weighted.contribution(counts, weighted.total))


# --- smokers ---------------------------------------------------------------------------------

_SMOKERS_MODES = _modes(["cancer +person", "friends +person -person", "smokes +person"])

SMOKERS_TRUTH = _truth(
    (-1.5, 0.27),
    Clause(head_atom("cancer", 1), (Atom("friends", (0, 1)), Atom("smokes", (1,)))),
    _SMOKERS_MODES,
)
"""``[-1.5, 0.27, 0] : cancer(A) :- friends(A,B), smokes(B).`` - the more smoking friends, the worse."""


def smokers(
    n_persons: int = 10_000,
    seed: int = 0,
    *,
    mean_friends: float = 15.0,
    exponent: float = 2.5,
    smoking: float = 0.4,
    homophily: float = 0.5,
) -> Database:
    """Persons who smoke or not, their friends, and who has cancer, drawn from ``SMOKERS_TRUTH``.

    At the default size there are about 150,000 facts and 1.32 negatives per positive. Every person
    is an example of ``cancer``. ``mean_friends`` is the number of ``friends`` facts per person;
    ``exponent`` is that of the power law of the number of friends; ``smoking`` is the share of
    smokers; ``homophily`` is the share of friendships made within one's own kind (smokers or not),
    the rest is made with anybody.

    A friendship is two facts, ``friends(ann,bob)`` and ``friends(bob,ann)``: what is not a fact is
    false, so with one direction only ``friends(A,B)`` would miss half of A's friends, and which
    half would depend on the order in which the two are written. Nobody is their own friend.

    >>> smokers(n_persons=1000)
    Database(14,735 facts, 2 predicates, 1 types, examples: cancer (1000))
    """
    _check("n_persons", n_persons, 1, 2**31 - 1)
    _check("mean_friends", mean_friends, 0)
    _check("exponent", exponent, 2.01)
    _check("smoking", smoking, 0, 1)
    _check("homophily", homophily, 0, 1)
    rng = np.random.default_rng(seed)
    smokes = rng.random(n_persons) < smoking
    left, right = _friendships(rng, smokes, min(mean_friends, n_persons - 1), exponent, homophily)
    database = _database(
        _SMOKERS_MODES,
        {"person": Population(Numbered("p", n_persons))},
        {
            "friends": (np.concatenate([left, right]), np.concatenate([right, left])),
            "smokes": (np.flatnonzero(smokes),),
        },
    )
    keys = np.arange(n_persons, dtype=np.int32).reshape(-1, 1)
    probability = _probability(SMOKERS_TRUTH, _smoking_friends(database)[keys[:, 0]])
    return _with_examples(database, _labelled(rng, "cancer", keys, probability))


def smokers_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``smokers`` world, in the order of its examples."""
    keys = database.examples_of("cancer").keys
    return _probability(SMOKERS_TRUTH, _smoking_friends(database)[keys[:, 0]])


def _smoking_friends(database: Database) -> Integers:
    """For each person the number of friends who smoke: the true count of the truth's clause."""
    person, friend = database.relation("friends").columns
    size = len(database.population("person"))
    smokes = np.zeros(size, dtype=bool)
    smokes[database.relation("smokes").columns[0]] = True
    return np.bincount(person[smokes[friend]], minlength=size)


def _friendships(
    rng: np.random.Generator,
    smokes: npt.NDArray[np.bool_],
    mean_friends: float,
    exponent: float,
    homophily: float,
) -> tuple[Codes, Codes]:
    """Pairs of friends, each pair in one direction; a few pairs may come twice.

    Everybody asks for a number of friends that follows a power law, and is asked in proportion
    to that number (a configuration model).
    """
    size = len(smokes)
    wanted = (1.0 - rng.random(size)) ** (-1.0 / (exponent - 1.0))
    # Beyond the square root of all friends a person would meet the same hubs again and again.
    np.minimum(wanted, wanted.mean() * max(np.sqrt(size / max(mean_friends, 1.0)), 1.0), out=wanted)
    wanted *= mean_friends / 2 / wanted.mean()
    asks = np.floor(wanted + rng.random(size)).astype(np.int64)
    left = np.repeat(np.arange(size, dtype=np.int32), asks)
    # Sorted by kind: the places of those who do not smoke, then of those who do.
    by_kind = np.concatenate([left[~smokes[left]], left[smokes[left]]])
    border = int(np.count_nonzero(~smokes[left]))
    same_kind = rng.random(len(left)) < homophily
    low = np.where(same_kind & smokes[left], border, 0)
    high = np.where(same_kind & ~smokes[left], border, len(left))
    right = by_kind[low + ((high - low) * rng.random(len(left))).astype(np.int64)]
    distinct = left != right
    return left[distinct], right[distinct]


# --- university ------------------------------------------------------------------------------

_UNIVERSITY_MODES = _modes(
    [
        "advisedby +person +person",
        "professor +person",
        "student +person",
        "publication -title +person",
        "publication +title -person",
        "taughtby -course +person",
        "taughtby +course -person",
        "ta -course +person",
        "ta +course -person",
        "courselevel +course #level",
        "inphase +person #phase",
        "hasposition +person #position",
    ]
)

UNIVERSITY_TRUTH = _truth(
    (-4.0, 2.0),
    Clause(head_atom("advisedby", 2), (Atom("publication", (2, 0)), Atom("publication", (2, 1)))),
    _UNIVERSITY_MODES,
)
"""``[-4, 2, 0] : advisedby(A,B) :- publication(C,A), publication(C,B).`` - the planted clause."""

_LEVELS = ("level_300", "level_400", "level_500")
_PHASES = ("pre_quals", "post_quals", "post_generals")
_POSITIONS = ("faculty", "faculty_adjunct", "faculty_emeritus")
_PROFESSORS, _STUDENTS, _TITLES = 8, 40, 120
"""how many there are in each department"""
_COURSES = 2
"""how many courses each professor teaches, and in how many each student assists"""


def university(n_departments: int = 10, seed: int = 0) -> Database:
    """Departments of professors and students who publish, teach and assist, and who advises whom.

    The labels of ``advisedby(student,professor)`` are drawn from ``UNIVERSITY_TRUTH``: only common
    publications matter. Students publish mostly with one professor and often assist in that
    professor's courses, so assisting foretells the label too, but less well than the planted
    clause. Levels, phases and positions say nothing. All pairs of a student and a professor of one
    department are examples: facts and examples grow in proportion to the number of departments.

    >>> university(n_departments=2)
    Database(934 facts, 8 predicates, 6 types, examples: advisedby (640))
    """
    _check("n_departments", n_departments, 1, 1_000_000)
    rng = np.random.default_rng(seed)
    n_professors, n_students = n_departments * _PROFESSORS, n_departments * _STUDENTS
    n_titles, n_courses = n_departments * _TITLES, n_professors * _COURSES
    # Persons are coded professors first, then students, each department by department.
    professors = np.arange(n_professors)
    students = np.arange(n_professors, n_professors + n_students)
    home = np.repeat(np.arange(n_departments), _STUDENTS)
    favourite = home * _PROFESSORS + rng.integers(_PROFESSORS, size=n_students)

    def professor_for(student: Integers, loyalty: float) -> Integers:
        """The student's favourite as often as ``loyalty`` says, else any of the department."""
        anybody = home[student] * _PROFESSORS + rng.integers(_PROFESSORS, size=len(student))
        return np.where(rng.random(len(student)) < loyalty, favourite[student], anybody)

    titles = np.arange(n_titles)
    author = rng.integers(n_students, size=n_titles)
    senior = professor_for(author, 0.8)
    joint = np.flatnonzero(rng.random(n_titles) < 0.2)
    second = home[author[joint]] * _STUDENTS + rng.integers(_STUDENTS, size=len(joint))
    assistant = np.repeat(np.arange(n_students), _COURSES)
    assisted = professor_for(assistant, 0.5) * _COURSES + rng.integers(_COURSES, size=len(assistant))
    courses = np.arange(n_courses)
    database = _database(
        _UNIVERSITY_MODES,
        {
            "person": Population([*Numbered("professor", n_professors), *Numbered("student", n_students)]),
            "title": Population(Numbered("title", n_titles)),
            "course": Population(Numbered("course", n_courses)),
            "level": Population(_LEVELS),
            "phase": Population(_PHASES),
            "position": Population(_POSITIONS),
        },
        {
            "professor": (professors,),
            "student": (students,),
            "publication": (
                np.concatenate([titles, titles, joint]),
                np.concatenate([senior, students[author], students[second]]),
            ),
            "taughtby": (courses, courses // _COURSES),
            "ta": (assisted, students[assistant]),
            "courselevel": (courses, rng.integers(len(_LEVELS), size=n_courses)),
            "inphase": (students, rng.integers(len(_PHASES), size=n_students)),
            "hasposition": (professors, rng.integers(len(_POSITIONS), size=n_professors)),
        },
    )
    candidates = home[:, None] * _PROFESSORS + np.arange(_PROFESSORS)
    keys = np.stack([np.repeat(students, _PROFESSORS), candidates.ravel()], axis=1).astype(np.int32)
    probability = _probability(UNIVERSITY_TRUTH, _common_publications(database, keys))
    return _with_examples(database, _labelled(rng, "advisedby", keys, probability))


def university_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``university`` world, in the order of its examples."""
    keys = database.examples_of("advisedby").keys
    return _probability(UNIVERSITY_TRUTH, _common_publications(database, keys))


def _common_publications(database: Database, keys: Codes) -> Integers:
    """For each pair the number of titles of both: the true count of the truth's clause.

    Every title has one professor, of the department of its students.
    """
    n_professors = len(database.relation("professor"))
    title, person = database.relation("publication").columns
    is_professor = person < n_professors
    senior = np.empty(len(database.population("title")), dtype=np.int64)
    senior[title[is_professor]] = person[is_professor]

    def place(student: npt.NDArray[Any], professor: npt.NDArray[Any]) -> Integers:
        number: Integers = (student.astype(np.int64) - n_professors) * _PROFESSORS + professor % _PROFESSORS
        return number

    pairs = place(person[~is_professor], senior[title[~is_professor]])
    common = np.bincount(pairs, minlength=len(database.relation("student")) * _PROFESSORS)
    return common[place(keys[:, 0], keys[:, 1])]


# --- shoppers --------------------------------------------------------------------------------

_SHOPPERS_MODES = _modes(
    [
        "returns +customer",
        "placed +customer -order",
        "contains +order -product",
        "price +product -euro",
        "colour +product #colour",
    ]
)

SHOPPERS_TRUTH = _truth(
    (-3.0, 0.8),
    Clause(
        head_atom("returns", 1),
        (
            Atom("contains", (1, 2)),
            Atom("placed", (0, 1)),
            Atom("price", (2, 3)),
            Comparison(3, AT_LEAST, 79.99),
        ),
    ),
    _SHOPPERS_MODES,
    {"euro": NUMBER},
)
"""``[-3, 0.8, 0] : returns(A) :- contains(B,C), placed(A,B), price(C,D), D >= 79.99.``"""

_PRICES = tuple(f"{tens}9.99" for tens in ("", *range(1, 13)))
_COLOURS = ("blue", "green", "red")


def shoppers(n_customers: int = 2000, seed: int = 0) -> Database:
    """Customers, their orders, the products in them and their prices, and who returns something.

    The labels are drawn from ``SHOPPERS_TRUTH``: what matters is how many expensive products somebody
    ordered, a threshold on a number two joins away. How much they order at all foretells it too, but
    less well; colours say nothing. Every customer is an example.

    >>> shoppers(n_customers=100)
    Database(1,288 facts, 4 predicates, 5 types, examples: returns (100))
    """
    _check("n_customers", n_customers, 1, 10_000_000)
    rng = np.random.default_rng(seed)
    n_products = max(n_customers // 10, 20)
    customer = np.repeat(np.arange(n_customers), 1 + rng.poisson(2.0, size=n_customers))
    n_orders = len(customer)
    order = np.repeat(np.arange(n_orders), 1 + rng.poisson(2.0, size=n_orders))
    products = np.arange(n_products)
    database = _database(
        _SHOPPERS_MODES,
        {
            "customer": Population(Numbered("customer", n_customers)),
            "order": Population(Numbered("order", n_orders)),
            "product": Population(Numbered("product", n_products)),
            "euro": Population(_PRICES),
            "colour": Population(_COLOURS),
        },
        {
            "placed": (customer, np.arange(n_orders)),
            "contains": (order, rng.integers(n_products, size=len(order))),
            "price": (products, rng.integers(len(_PRICES), size=n_products)),
            "colour": (products, rng.integers(len(_COLOURS), size=n_products)),
        },
        {"euro": NUMBER},
    )
    keys = np.arange(n_customers, dtype=np.int32).reshape(-1, 1)
    probability = _probability(SHOPPERS_TRUTH, _expensive_products(database))
    return _with_examples(database, _labelled(rng, "returns", keys, probability))


def shoppers_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``shoppers`` world, in the order of its examples."""
    keys = database.examples_of("returns").keys
    return _probability(SHOPPERS_TRUTH, _expensive_products(database)[keys[:, 0]])


def _expensive_products(database: Database) -> Integers:
    """For each customer the number of expensive products in their orders: the truth's true count."""
    price_of = np.empty(len(database.population("product")))
    product, euro = database.relation("price").columns
    price_of[product] = database.numbers["euro"][euro]
    order, ordered = database.relation("contains").columns
    expensive = np.bincount(order[price_of[ordered] >= 79.99], minlength=len(database.population("order")))
    customer, placed = database.relation("placed").columns
    size = len(database.population("customer"))
    return np.bincount(customer, weights=expensive[placed], minlength=size).astype(np.int64)
