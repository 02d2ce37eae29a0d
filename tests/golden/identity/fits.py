"""The fits whose models are compared: for each its name, its data, and the words of its command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import generated
from planted_world import FEATURES

WORLDS: dict[str, Callable[[Path], None]] = {
    "shop": generated.shop,
    "numbers": generated.numbers,
    "papers": generated.papers,
    "friends": generated.friends,
    **{f"world {name}": generated.with_feature(name) for name in FEATURES},
}
"""Data that are generated; all other data are folders of the public data sets."""

PUBLIC = {
    "uwcse/fold1": "advisedby",
    "imdb/Fold1": "workedunder",
    "webkb/fold1": "faculty",
    "mutagenesis": "active",
    "hepatitis": "type_b",
    "movielens_paper": "female",
}


class Fit(NamedTuple):
    """One command ``fit``, what ``predict`` is told too, and what it alone is told."""

    name: str
    data: str
    options: tuple[str, ...]
    shared: tuple[str, ...] = ()
    predicting: tuple[str, ...] = ()

    @property
    def is_public(self) -> bool:
        return self.data not in WORLDS


def fits() -> Iterator[Fit]:
    yield from _of_tables()
    yield from _of_worlds()
    for data, target in PUBLIC.items():
        for name, options in {
            "default": (),
            "paper": ("--preset", "paper"),
            "rdn": ("--learner", "rdn-boost"),
        }.items():
            yield Fit(f"{data} {name}", data, ("--target", target, *options))
    duckdb = ("--engine", "duckdb")
    yield Fit("uwcse/fold1 mln", "uwcse/fold1", ("--target", "advisedby", "--learner", "mln-boost"))
    yield Fit("uwcse/fold1 jobs", "uwcse/fold1", ("--target", "advisedby", "--jobs", "2"))
    yield Fit("mutagenesis duckdb", "mutagenesis", ("--target", "active"), duckdb)


def _of_tables() -> Iterator[Fit]:
    duckdb = ("--engine", "duckdb")
    paper = ("--preset", "paper")
    churned = ("--target", "customers.churned")
    yield Fit("shop default", "shop", churned)
    yield Fit("shop duckdb", "shop", churned, duckdb)
    yield Fit("shop long", "shop", (*churned, "--effects", "all", "--bags", "3"))
    yield Fit("shop paper", "shop", (*churned, *paper))
    yield Fit("shop paper duckdb", "shop", (*churned, *paper), duckdb)
    yield Fit("shop paper negation", "shop", (*churned, *paper, "--negation"))
    yield Fit("shop paper guarded", "shop", (*churned, *paper, "--false-counts", "guarded"))
    yield Fit("shop mln-boost", "shop", (*churned, "--learner", "mln-boost", "--steps", "4"))
    for learner in ("rdn-boost", "agg-lr", "ilp-rlr"):
        yield Fit(f"shop {learner}", "shop", (*churned, "--learner", learner))
    yield Fit("shop links", "shop", ("--target", "orders", "--bags", "2"), ("--negatives", "1"))
    for loss in ("squared", "absolute"):
        yield Fit(f"numbers {loss}", "numbers", ("--target", "things.cost", "--loss", loss))
    yield Fit("numbers poisson", "numbers", ("--target", "things.visits", "--loss", "poisson"))
    yield Fit("numbers classes", "numbers", ("--target", "parts.sort", "--bags", "3"))
    known = ("--evidence", "{data}_known.csv")
    few = ("--bags", "2", "--steps", "40")
    yield Fit("papers classes", "papers", ("--target", "papers.topic", *few))
    yield Fit("papers joint", "papers", ("--target", "papers.topic", "--joint", *few), predicting=known)
    yield Fit("friends default", "friends", ("--target", "cancer"))
    yield Fit("friends joint", "friends", ("--target", "cancer", "--joint", *few), predicting=known)
    yield Fit("friends mln", "friends", ("--target", "cancer", "--learner", "mln-boost"))


def _of_worlds() -> Iterator[Fit]:
    good = ("--target", "good(things)")
    for world in WORLDS:
        if world.startswith("world "):
            yield Fit(world, world, good, ("--examples", "{data}/examples.csv"))
    with_cutoffs = ("--examples", "{data}/examples.csv")
    timeless = ("--examples", "{data}_timeless.csv")
    yield Fit("world mean timeless", "world mean", good, timeless)
    yield Fit("world window timeless", "world window", good, timeless)
    yield Fit("world mean paper", "world mean", (*good, "--preset", "paper"), with_cutoffs)
    yield Fit("world mean duckdb", "world mean", good, (*with_cutoffs, "--engine", "duckdb"))
    yield Fit("world last group", "world last", (*good, "--group", "things"), with_cutoffs)
