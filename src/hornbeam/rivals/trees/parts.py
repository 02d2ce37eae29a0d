"""The trees of a model as the parts of a report."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.logic.clauses import atoms_of
from hornbeam.report.numbers.parts import ModelPart
from hornbeam.rivals.trees.trees import Tree, leaves, tree_text


def tree_parts(trees: Sequence[Tree]) -> list[ModelPart]:
    """One part for each tree, in the same order."""
    return [_part(number, tree) for number, tree in enumerate(trees, start=1)]


def _part(number: int, tree: Tree) -> ModelPart:
    tree_leaves = list(leaves(tree))
    size = "1 leaf" if len(tree_leaves) == 1 else f"{len(tree_leaves):,} leaves"
    return ModelPart(
        name=f"tree {number}",
        sentence=[f"A tree with {size}; each leaf adds a value."],
        formula=[],
        weights=(),
        note="",
        clause=None,
        predicates=frozenset(atom.predicate for leaf in tree_leaves for atom in atoms_of(leaf.body)),
        tree=tree_text(tree, ""),
    )
