"""Professors and students of departments, what they publish and teach, and who advises whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database, Population
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds.building import (
    Floats,
    Integers,
    check_limits,
    database_of,
    labelled,
    modes_of,
    probability_of,
    truth_of,
    with_examples,
)
from hornbeam.logic.clauses import Atom, Clause, head_atom

_UNIVERSITY_MODES = modes_of(
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

UNIVERSITY_TRUTH = truth_of(
    (-4.0, 2.0),
    Clause(head_atom("advisedby", 2), (Atom("publication", (2, 0)), Atom("publication", (2, 1)))),
    _UNIVERSITY_MODES,
)
"""``[-4, 2, 0] : advisedby(A,B) :- publication(C,A), publication(C,B).`` - the planted clause."""

_LEVELS = ("level_300", "level_400", "level_500")
_PHASES = ("pre_quals", "post_quals", "post_generals")
_POSITIONS = ("faculty", "faculty_adjunct", "faculty_emeritus")
_PROFESSORS, _STUDENTS, _TITLES = 8, 40, 120
"""Numbers in each department."""
_COURSES = 2
"""The number of courses that each professor teaches, and that each student assists in."""


def university(n_departments: int = 10, seed: int = 0) -> Database:
    """Departments of professors and students who publish, teach and assist, and who advises whom.

    The labels of ``advisedby(student,professor)`` are drawn from ``UNIVERSITY_TRUTH``: only common
    publications matter. Students publish mostly with one professor and often assist in that
    professor's courses, so assisting predicts the label too, but less well than the planted
    clause. Levels, phases and positions are noise. All pairs of a student and a professor of one
    department are examples, so facts and examples grow in proportion to the number of departments.

    >>> university(n_departments=2)
    Database(934 facts, 8 predicates, 6 types, examples: advisedby (640))
    """
    check_limits("n_departments", n_departments, 1, 1_000_000)
    rng = np.random.default_rng(seed)
    n_professors, n_students = n_departments * _PROFESSORS, n_departments * _STUDENTS
    n_titles, n_courses = n_departments * _TITLES, n_professors * _COURSES
    # Codes of persons: professors first, then students, each department by department.
    students = np.arange(n_professors, n_professors + n_students)
    home = np.repeat(np.arange(n_departments), _STUDENTS)
    database = database_of(
        _UNIVERSITY_MODES,
        {
            "person": Population([*Numbered("professor", n_professors), *Numbered("student", n_students)]),
            "title": Population(Numbered("title", n_titles)),
            "course": Population(Numbered("course", n_courses)),
            "level": Population(_LEVELS),
            "phase": Population(_PHASES),
            "position": Population(_POSITIONS),
        },
        _facts(rng, home, students),
    )
    candidates = home[:, None] * _PROFESSORS + np.arange(_PROFESSORS)
    keys = np.stack([np.repeat(students, _PROFESSORS), candidates.ravel()], axis=1).astype(np.int32)
    probability = probability_of(UNIVERSITY_TRUTH, _common_publications(database, keys))
    return with_examples(database, labelled(rng, "advisedby", keys, probability))


def _facts(
    rng: np.random.Generator, home: Integers, students: Integers
) -> dict[str, tuple[npt.NDArray[Any], ...]]:
    """Columns of codes for each predicate; ``home`` is the department of each student."""
    n_students = len(students)
    n_departments = n_students // _STUDENTS
    n_titles = n_departments * _TITLES
    professors = np.arange(n_departments * _PROFESSORS)
    favourite = home * _PROFESSORS + rng.integers(_PROFESSORS, size=n_students)

    def professor_for(student: Integers, loyalty: float) -> Integers:
        """The student's favourite with probability ``loyalty``, else any professor of the department."""
        anybody = home[student] * _PROFESSORS + rng.integers(_PROFESSORS, size=len(student))
        return np.where(rng.random(len(student)) < loyalty, favourite[student], anybody)

    # The order of the draws is part of the world: the same seed gives the same world.
    titles = np.arange(n_titles)
    author = rng.integers(n_students, size=n_titles)
    senior = professor_for(author, 0.8)
    joint = np.flatnonzero(rng.random(n_titles) < 0.2)
    second = home[author[joint]] * _STUDENTS + rng.integers(_STUDENTS, size=len(joint))
    assistant = np.repeat(np.arange(n_students), _COURSES)
    assisted = professor_for(assistant, 0.5) * _COURSES + rng.integers(_COURSES, size=len(assistant))
    courses = np.arange(len(professors) * _COURSES)
    return {
        "professor": (professors,),
        "student": (students,),
        "publication": (
            np.concatenate([titles, titles, joint]),
            np.concatenate([senior, students[author], students[second]]),
        ),
        "taughtby": (courses, courses // _COURSES),
        "ta": (assisted, students[assistant]),
        "courselevel": (courses, rng.integers(len(_LEVELS), size=len(courses))),
        "inphase": (students, rng.integers(len(_PHASES), size=n_students)),
        "hasposition": (professors, rng.integers(len(_POSITIONS), size=len(professors))),
    }


def university_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``university`` world, in the order of its examples."""
    keys = database.examples_of("advisedby").keys
    return probability_of(UNIVERSITY_TRUTH, _common_publications(database, keys))


def _common_publications(database: Database, keys: Codes) -> Integers:
    """The number of common titles of each pair, which is the true count of the planted clause.

    Every title has one professor, who is in the department of its students.
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
