"""Relational regression trees: their structure, their values for examples, and their text.

An inner node tests whether a conjunction holds for the example: whether its free variables have values that
make it true, together with all tests that held on the way to the node. Variables are shared along the path:
a test may use the variables of the tests above it that held. If a test fails, its variables are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.engines.clauses.counting.holding import Body, Truth
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Atom, Clause, Literal, cut, extended, known
from hornbeam.model.clause_model import Floats

Holds = Callable[[Clause], Truth]
"""For each example, whether the body of a clause holds."""


class Leaf(NamedTuple):
    """A value for the examples that reach this leaf, and the number of training examples that did."""

    value: float
    examples: int


class Node(NamedTuple):
    """A test, the subtree for examples for which it holds, and the one for examples for which it fails."""

    test: Body
    holds: Tree
    fails: Tree


Tree = Leaf | Node


def scaled(tree: Tree, scale: float) -> Tree:
    """The tree with its values in another unit."""
    if isinstance(tree, Leaf):
        return tree._replace(value=float(f"{tree.value * scale:.12g}"))
    return Node(tree.test, scaled(tree.holds, scale), scaled(tree.fails, scale))


class NodePlace(NamedTuple):
    """A leaf or node of a tree, and the literals that hold for all examples that reach it."""

    tree: Tree
    body: Body
    """the tests that held on the way, as one conjunction"""

    def below(self) -> tuple[NodePlace, NodePlace]:
        """The two places below a node: where its test holds, and where it fails."""
        assert isinstance(self.tree, Node)
        return NodePlace(self.tree.holds, self.body + self.tree.test), NodePlace(self.tree.fails, self.body)

    def asked(self, head: Atom) -> list[Clause]:
        """The canonical clauses that must all hold for a node's test to hold."""
        assert isinstance(self.tree, Node)
        components = known(cut(self.body, head.args))
        for literal in self.tree.test:
            components = extended(components, (literal,), head.args)
        return [canonical(Clause(head, component.literals)) for component in components if component.new]


def root(tree: Tree) -> NodePlace:
    return NodePlace(tree, ())


def places(tree: Tree) -> Iterator[NodePlace]:
    """Every place of a tree: a node comes before its subtrees, the one where its test holds first."""
    waiting = [root(tree)]
    while waiting:
        place = waiting.pop()
        yield place
        if isinstance(place.tree, Node):
            waiting.extend(reversed(place.below()))


def leaves(tree: Tree) -> Iterator[NodePlace]:
    """The leaves from left to right: the subtree where a test holds comes before the one where it fails.

    In this order, an example belongs to the first leaf whose body holds.
    """
    return (place for place in places(tree) if isinstance(place.tree, Leaf))


def leaf_values(tree: Tree, head: Atom, size: int, holds: Holds) -> Floats:
    """The value of the leaf that each of ``size`` examples ends in."""
    values = np.empty(size, dtype=np.float64)
    waiting = [(root(tree), np.arange(size))]
    while waiting:
        place, rows = waiting.pop()
        if isinstance(place.tree, Leaf):
            values[rows] = place.tree.value
        elif len(rows):
            yes, no = place.below()
            passed = np.ones(len(rows), dtype=np.bool_)
            for clause in place.asked(head):
                passed &= holds(clause)[rows]
            waiting += [(yes, rows[passed]), (no, rows[~passed])]
    return values


def body_text(literals: Sequence[Literal]) -> str:
    """``publication(C,A), publication(C,B)``; ``true`` if there are none."""
    return ", ".join(map(str, literals)) or "true"


def tree_text(tree: Tree, indent: str = "") -> str:
    """The tree in lines: each test as a question, with its two subtrees below.

    >>> print(tree_text(Node((Atom("smokes", (0,)),), Leaf(0.5, 12), Leaf(-0.25, 30))))
    smokes(A)?
      yes: 0.5 (12 examples)
      no: -0.25 (30 examples)
    """
    if isinstance(tree, Leaf):
        return f"{tree.value:.6g} ({tree.examples:,} examples)"
    deeper = indent + "  "
    yes, no = (tree_text(below, deeper) for below in (tree.holds, tree.fails))
    return f"{body_text(tree.test)}?\n{deeper}yes: {yes}\n{deeper}no: {no}"
