"""Tasks, methods, and the list of runs that a study consists of.

A run is one fit on one fold, and its scores there. Nothing here looks at results: the list of runs is fixed
before the first fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hornbeam.datasets import DataSet, data_set
from hornbeam.datasets.catalogue import SmokersWorld, UniversityWorld
from hornbeam.learning.learners import options_for
from hornbeam.learning.options import Options
from study.published import LAMBDAS

PR_AT_2_TO_1 = "auc_pr_2to1"
PR_OF_OTHER_CLASS = "auc_pr_swapped"


@dataclass(frozen=True, slots=True)
class Task:
    """A data set, and how it is used."""

    name: str
    title: str
    data: DataSet
    l2: float
    """the paper's lambda, which it chose on the test sets"""
    most_negatives: float
    """the most negatives per positive in any training data; a learner with a higher limit uses all"""
    n_folds: int
    without: str = ""
    """a predicate whose facts are not used"""
    published: str = ""
    """its name among the paper's data sets; empty if the paper does not use it"""
    footing: str = PR_AT_2_TO_1
    """the AUC-PR that is comparable with the published one"""
    difference: str = ""
    """how our data differ from the paper's, as far as is known"""


@dataclass(frozen=True, slots=True)
class Method:
    """A learner with its settings."""

    name: str
    title: str
    learner: str
    preset: str | None = None
    explicit: Mapping[str, Any] = field(default_factory=dict, hash=False)
    papers_l2: bool = False
    """whether its penalty is the paper's lambda for the task"""

    def options(self, task: Task, seed: int = 0, l2: float | None = None) -> Options:
        """The options that the learner is run with; ``l2`` is a penalty other than the task's."""
        penalty = l2 if l2 is not None else task.l2 if self.papers_l2 else None
        more = {} if penalty is None else {"l2": penalty}
        return options_for(self.learner, self.preset, **self.explicit, **more, seed=seed)

    def settings(self, task: Task, seed: int = 0, l2: float | None = None) -> dict[str, Any]:
        """Every option of the learner with the value it is run with."""
        return {} if self.learner == TRUTH else self.options(task, seed, l2).settings()


TRUTH = "truth"
"""The true probabilities of a generated world: no learner can rank better, on average."""
CHOSEN = "default"
"""The setting of boosted RLR that the answers are about: named in advance, chosen on training data."""
METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("agg-lr", "AGG-LR", "agg-lr"),
        Method("ilp-rlr", "ILP-RLR", "ilp-rlr"),
        Method("mln-boost", "MLN-B", "mln-boost"),
        Method("rdn-boost", "RDN-B", "rdn-boost"),
        Method("paper", "B-RLR (paper, greedy)", "rlr", "paper", papers_l2=True),
        Method("paper-beam10", "B-RLR (paper, beam 10)", "rlr", "paper", {"beam_width": 10}, papers_l2=True),
        Method(CHOSEN, "B-RLR (default)", "rlr", "default"),
    )
}
BASELINES = ("agg-lr", "ilp-rlr", "mln-boost", "rdn-boost")
BOOSTED = ("paper", "paper-beam10", CHOSEN)
_TRUE = Method(TRUTH, "true probabilities", TRUTH)


class Run(NamedTuple):
    """One fit on one fold, and its scores there."""

    task: str
    fold: int
    seed: int
    method: str
    learner: str
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """Tasks, and the number of seeds and penalties to run on each."""

    tasks: tuple[Task, ...]
    n_seeds: int
    """seeds to run where a learner draws a sample of the negatives"""
    lambdas: tuple[float, ...]
    """penalties to run on every fold, as exponents of ten"""
    wide_lambdas: tuple[float, ...]
    """penalties to run on the first fold, as exponents of ten"""
    population: int
    """members in the worlds of ``populations`` that models are learned in"""

    def task(self, name: str) -> Task:
        return next(task for task in self.tasks if task.name == name)

    def runs(self) -> list[Run]:
        """Every distinct run, ordered by task and fold."""
        distinct: dict[tuple[object, ...], Run] = {}
        for task in self.tasks:
            for run in self._runs_of(task):
                distinct.setdefault((*run[:5], tuple(run.settings.items())), run)
        places = {task.name: place for place, task in enumerate(self.tasks)}
        return sorted(distinct.values(), key=lambda run: (places[run.task], run.fold))

    def _runs_of(self, task: Task) -> Iterator[Run]:
        for fold in range(1, task.n_folds + 1):
            if is_generated(task):
                yield run_of(task, _TRUE, fold)
            for method in METHODS.values():
                for seed in range(self.n_seeds if _draws(method, task) else 1):
                    yield run_of(task, method, fold, seed)
            if task.published or not any(each.published for each in self.tasks):
                exponents = {*self.lambdas, *(self.wide_lambdas if fold == 1 else ())}
                for exponent in sorted(exponents):
                    yield run_of(task, METHODS["paper"], fold, l2=penalty(exponent))


def is_generated(task: Task) -> bool:
    """Whether the data of a task are a generated world."""
    return isinstance(task.data.layout, SmokersWorld | UniversityWorld)


def run_of(task: Task, method: Method, fold: int, seed: int = 0, l2: float | None = None) -> Run:
    """The run of a method on a fold of a task."""
    return Run(task.name, fold, seed, method.name, method.learner, method.settings(task, seed, l2))


def penalty(exponent: float) -> float:
    """Ten to the exponent, rounded so that equal exponents give equal penalties.

    >>> penalty(3.0), penalty(3.5)
    (1000.0, 3162.27766017)
    """
    return float(f"{10**exponent:.12g}")


def _draws(method: Method, task: Task) -> bool:
    """Whether a method keeps only a sample of the task's negatives."""
    ratio = method.settings(task).get("neg_pos_ratio")
    return ratio is not None and ratio < task.most_negatives


def _published_task(name: str, title: str, exponent: float, most_negatives: float, **more: Any) -> Task:
    data = data_set(name)
    return Task(name, title, data, penalty(exponent), most_negatives, data.n_folds, published=name, **more)


def full_study() -> Study:
    """The paper's five data sets with its folds and lambdas, and WebKB without ``student``."""
    webkb = _published_task("webkb", "WebKB", 2.0, 4.2)
    tasks = (
        _published_task(
            "smokes",
            "Smokes-Cancer-Friends",
            3.5,
            1.4,
            difference="the world is generated, and not the paper's",
        ),
        _published_task(
            "imdb",
            "IMDB",
            3.0,
            2.0,
            difference="the public folds have 2 negatives per positive, the paper counts 13.4",
        ),
        _published_task("uwcse", "UW-CSE", 3.5, 650.0),
        _published_task(
            "movielens",
            "MovieLens",
            3.0,
            2.5,
            footing=PR_OF_OTHER_CLASS,
            difference="the paper's folds are not known; ours deal the users at random, by label",
        ),
        webkb,
        Task(
            "webkb_without_student",
            "WebKB without student",
            webkb.data,
            webkb.l2,
            webkb.most_negatives,
            webkb.n_folds,
            without="student",
        ),
    )
    wide = tuple(half / 2 for half in range(-2, 9))
    return Study(tasks, n_seeds=3, lambdas=LAMBDAS, wide_lambdas=wide, population=20)


def quick_study() -> Study:
    """Two small generated worlds, two folds each: the whole study in a minute, without any files."""
    smokes = DataSet("smokes_small", "", "cancer", 4, SmokersWorld(400, seed=0))
    university = DataSet("university_small", "", "advisedby", 4, UniversityWorld(2, seed=0))
    tasks = (
        Task("smokes_small", "400 smokers", smokes, penalty(2.0), 1.6, n_folds=2),
        Task("university_small", "2 departments", university, penalty(2.0), 12.0, n_folds=2),
    )
    return Study(tasks, n_seeds=2, lambdas=(1.0, 2.0), wide_lambdas=(0.0, 3.0), population=20)


def selected(runs: Sequence[Run], methods: Sequence[str], tasks: Sequence[str]) -> list[Run]:
    """The runs of these methods on these tasks; an empty list means all."""
    return [
        run for run in runs if (not methods or run.method in methods) and (not tasks or run.task in tasks)
    ]
