"""Models of relational regression trees: probabilities, text, files, and explanations.

Predicting needs an engine and NumPy; this module does not depend on how trees are learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count import count_all
from hornbeam.engines.clauses.counting.holding import Body, Truth
from hornbeam.engines.contract import Engine
from hornbeam.errors import InputError, plural
from hornbeam.logic.clauses import Atom, Clause, atoms_of, head_atom, variable_name
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Floats
from hornbeam.model.explain import SHOWN, Explanation, about, explain, explanation, named_groundings
from hornbeam.model.fields import Fields
from hornbeam.model.files import (
    Common,
    ModelKind,
    loss_fields,
    probabilities_of,
    read_loss,
    register_kind,
)
from hornbeam.model.scales import LOGISTIC
from hornbeam.rivals.trees.picture import tree_picture
from hornbeam.rivals.trees.trees import (
    Holds,
    Leaf,
    Node,
    Tree,
    leaf_values,
    leaves,
    places,
    root,
    tree_text,
)

if TYPE_CHECKING:
    from hornbeam.report.numbers.parts import ModelPart

LEARNER = "rdn-boost"
DEEPEST = 100
"""Maximum depth of a tree in a file; no learner grows trees that deep."""


@dataclass(frozen=True)
class TreeModel:
    """A target's prior and regression trees: ``P = sigmoid(prior + sum of leaf values)``.

    For a numeric target, the sum is the prediction.
    """

    target: str
    schema: Schema
    prior: float
    trees: tuple[Tree, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = "rdn-boost"
    loss: str = LOGISTIC

    def __str__(self) -> str:
        lines = [f"prior {self.prior:.6g}"]
        for number, tree in enumerate(self.trees, start=1):
            lines.append(f"tree {number}\n  {tree_text(tree, '  ')}")
        return "\n".join(lines)

    @property
    def head(self) -> Atom:
        return head_atom(self.target, self.schema.arity(self.target))

    @property
    def size_text(self) -> str:
        return plural(len(self.trees), "tree")

    def clause_text(self) -> str:
        """The model as a list of clauses for each tree; the first clause that holds gives the value."""
        lines = [f"prior {self.prior:.6g}"]
        for number, tree in enumerate(self.trees, start=1):
            lines.append(f"tree {number}, the first clause that holds:")
            for place in leaves(tree):
                assert isinstance(place.tree, Leaf)
                lines.append(f"  [{place.tree.value:.6g}] : {Clause(self.head, place.body)}")
        return "\n".join(lines)

    def picture(self) -> str:
        """The trees as an SVG document."""
        heading = f"{self.size_text} for {self.target}, prior {self.prior:.6g}"
        return tree_picture(heading, self.trees).document()

    def _repr_svg_(self) -> str:
        return self.picture()

    def predicates(self) -> tuple[str, ...]:
        """The predicates in the tests, sorted."""
        used = (
            place.tree.test for tree in self.trees for place in places(tree) if isinstance(place.tree, Node)
        )
        return tuple(sorted({atom.predicate for test in used for atom in atoms_of(test)}))

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each example, tree by tree in model order."""
        result = np.full(len(keys), self.prior, dtype=np.float64)
        for contribution in self.contributions(engine, keys):
            result += contribution
        return result

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each tree adds to the log-odds of each example, in model order."""
        holds = self.holds(engine, keys)
        for tree in self.trees:
            yield leaf_values(tree, self.head, len(keys), holds)

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """P(y=1) of each example."""
        return probabilities_of(self, engine, keys)

    def report_parts(self) -> list[ModelPart]:
        """The trees as a report shows them."""
        # Imported late, because predicting does not need reports.
        from hornbeam.rivals.trees.parts import tree_parts

        return tree_parts(self.trees)

    def holds(self, engine: Engine, keys: Codes) -> Holds:
        """The examples for which each body of the trees holds; counted once, in batches."""
        clauses = list(
            dict.fromkeys(
                clause
                for tree in self.trees
                for place in places(tree)
                if isinstance(place.tree, Node)
                for clause in place.asked(self.head)
            )
        )
        size = max(1, engine.memory // 4 // (8 * max(1, len(keys))))
        truths: dict[Clause, Truth] = {}
        for start in range(0, len(clauses), size):
            batch = clauses[start : start + size]
            for clause, counts in zip(batch, count_all(counter_of(engine), batch, keys), strict=True):
                truths[clause] = counts.true > 0
        return truths.__getitem__


# --- files --------------------------------------------------------------------------------------


def node_fields(tree: Tree, head: Atom) -> list[dict[str, object]]:
    """The nodes and leaves of a tree, in the order of ``places``.

    A node is written as the clause of its test and all tests that held on the way, so that its variables
    are those of the path.
    """
    return [
        {"value": place.tree.value, "examples": place.tree.examples}
        if isinstance(place.tree, Leaf)
        else {"clause": str(Clause(head, place.body + place.tree.test))}
        for place in places(tree)
    ]


def read_tree(fields: Fields, schema: Schema, target: str) -> Tree:
    """The tree of a JSON object with ``nodes``."""
    nodes = list(fields.objects("nodes", "node"))
    reader = iter(nodes)
    tree = _read_below(fields, reader, schema, target, (), 0)
    more = sum(1 for _ in reader)
    if more:
        raise fields.wrong("nodes", "one tree", f"{more} more")
    return tree


def _read_below(
    owner: Fields, nodes: Iterator[Fields], schema: Schema, target: str, path: Body, depth: int
) -> Tree:
    """The subtree below a path."""
    fields = next(nodes, None)
    if fields is None:
        raise owner.wrong("nodes", "a complete tree", "a tree with missing leaves")
    if fields.has("value"):
        leaf = Leaf(fields.number("value"), fields.whole("examples"))
        fields.close()
        return leaf
    text = fields.text("clause")
    fields.close()
    try:
        clause = parse_clause(text, schema)
    except InputError as error:
        raise fields.wrong("clause", f"a clause of the model's schema ({error})", text) from None
    if clause.head.predicate != target or clause.body[: len(path)] != path or len(clause.body) == len(path):
        raise fields.wrong("clause", f'a clause with head "{target}" that adds a test to the one above', text)
    if depth >= DEEPEST:
        raise fields.wrong("clause", f"at most {DEEPEST} tests below the root", text)
    holds = _read_below(owner, nodes, schema, target, clause.body, depth + 1)
    fails = _read_below(owner, nodes, schema, target, path, depth + 1)
    return Node(clause.body[len(path) :], holds, fails)


def _fields(model: TreeModel) -> dict[str, object]:
    trees = [{"nodes": node_fields(tree, model.head)} for tree in model.trees]
    return {"prior": model.prior, "trees": trees} | loss_fields(model)


def _read(common: Common, fields: Fields) -> TreeModel:
    trees = []
    for member in fields.objects("trees", "tree"):
        trees.append(read_tree(member, common.schema, common.target))
        member.close()
    prior, loss = fields.number("prior"), read_loss(fields)
    return TreeModel(common.target, common.schema, prior, tuple(trees), common.settings, common.learner, loss)


register_kind(LEARNER, ModelKind(_fields, _read))


# --- explanations --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TreeReason:
    """The contribution of one tree to the log-odds of an example, and the tests that led to its leaf."""

    tree: int
    """its number, from 1"""
    clause: Clause
    """the conjunction of the tests that hold on the way to the leaf"""
    failed: tuple[Clause, ...]
    """each test that fails, together with the literals above it that share its variables"""
    contribution: float
    variables: tuple[str, ...]
    groundings: tuple[tuple[str, ...], ...]
    """values of the free variables in some groundings that make the clause's body true"""

    def as_dict(self) -> dict[str, object]:
        return {
            "tree": self.tree,
            "clause": str(self.clause),
            "failed": [str(clause) for clause in self.failed],
            "contribution": self.contribution,
            "groundings": [dict(zip(self.variables, values, strict=True)) for values in self.groundings],
        }

    def because(self, key: tuple[str, ...]) -> str:
        """``tree 2: friends(ann,B), smokes(B) holds (B = bob); smokes(ann) does not hold``."""
        reasons = []
        if self.clause.body:
            shown = [
                " ".join(f"{name} = {value}" for name, value in zip(self.variables, values, strict=True))
                for values in self.groundings
            ]
            values = f" ({'; '.join(shown)})" if shown else ""
            reasons.append(f"{about(self.clause.body, key)} holds{values}")
        reasons += [f"{about(clause.body, key)} does not hold" for clause in self.failed]
        return f"tree {self.tree}: {'; '.join(reasons)}"


@explain.register
def _explain(
    model: TreeModel, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    keys = key.reshape(1, -1)
    holds = model.holds(engine, keys)
    reasons = []
    for number, tree in enumerate(model.trees, start=1):
        place = root(tree)
        failed = []
        while isinstance(place.tree, Node):
            yes, no = place.below()
            tested = place.asked(model.head)
            if all(holds(clause)[0] for clause in tested):
                place = yes
            else:
                failed += [clause for clause in tested if not holds(clause)[0]][:1]
                place = no
        clause = Clause(model.head, place.body)
        reasons.append(
            TreeReason(
                tree=number,
                clause=clause,
                failed=tuple(failed),
                contribution=place.tree.value,
                variables=tuple(map(variable_name, clause.free_variables())),
                groundings=named_groundings(engine.database, clause, key, shown),
            )
        )
    return explanation(model, engine, key, name, reasons)
