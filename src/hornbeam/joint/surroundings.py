"""The surroundings model: what the constants of a thing, and of the things around it, say about its label.

Constants of a thing are those that stand beside it in facts, such as the words of a paper. Each has weights
for each label: for the thing itself, for the mean of the thing and the things that it is linked to (near),
for the mean of these means (far), and for such means taken four times (further). All weights of all labels
are fitted together (``fitting``), so that words of neighbours tell something where the thing's own words are
few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import matmul
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.data.database import UNKNOWN, Database
from hornbeam.data.numbers import Floats
from hornbeam.errors import InputError, plural
from hornbeam.joint.neighbours import Sparse, chain_of, link_matrix, reach_of
from hornbeam.joint.things import JointTarget, Things
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.logic.clauses import Atom, Clause, atoms_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.fields import Fields

DISTANCES = ("own", "near", "far", "further")
STEPS_OF_MEANS = (0, 1, 2, 4)
"""How many times means are taken, for each distance."""
_STEPS = (*reversed(np.diff(STEPS_OF_MEANS).tolist()), 0)
_END = "constant"


class ConstantSource(NamedTuple):
    """Where constants stand: a body such as ``word(A,B)``, and the argument of its last atom."""

    clause: Clause
    place: int

    @property
    def type_place(self) -> tuple[str, int]:
        """The predicate and the argument whose type the constants have."""
        last = self.clause.body[-1]
        assert isinstance(last, Atom)
        return last.predicate, self.place


class WeightList(NamedTuple):
    """The constants of a source, and the weights of each: for each distance, one for each free label."""

    source: ConstantSource
    names: tuple[str, ...]
    weights: tuple[tuple[tuple[float, ...], ...], ...]


class Around(NamedTuple):
    """What the surroundings model says of things."""

    chances: Floats
    linked: npt.NDArray[np.bool_]
    """which things are linked to others"""


@dataclass(frozen=True)
class Surroundings:
    """Weights of constants, and the links along which constants of others count."""

    links: tuple[Clause, ...]
    bias: tuple[float, ...]
    lists: tuple[WeightList, ...]

    @property
    def size_text(self) -> str:
        """The number of constants."""
        return f"weights of {plural(sum(len(each.names) for each in self.lists), 'constant')}"

    def predicates(self) -> tuple[str, ...]:
        """The predicates whose facts it reads; the target is among them."""
        clauses = [*self.links, *(each.source.clause for each in self.lists)]
        return tuple(sorted({atom.predicate for clause in clauses for atom in atoms_of(clause.body)}))

    def around(self, database: Database, things: Things) -> Around:
        """The probability of each label of each thing."""
        means, is_linked = mean_matrix(database, self.links, things)
        added: Floats = np.zeros((len(things), len(self.bias))) + np.array(self.bias)
        for source, names, weights in self.lists:
            values = constant_matrix(database, source, things, names)
            # From far to near: the means of the means of what constants add.
            total: Floats = np.zeros((len(things), len(self.bias)))
            for steps, of_distance in zip(_STEPS, reversed(weights), strict=True):
                total += values @ np.array(of_distance).reshape(len(names), -1)
                for _ in range(steps):
                    total = means @ total
            added += total
        return Around(chances_of(things.target, added), is_linked)

    def reasons(self, database: Database, things: Things, place: int, label: int) -> list[tuple[str, float]]:
        """What each constant adds to the score of a label of one thing, relative to the other labels."""
        means, _ = mean_matrix(database, self.links, things)
        rows = [sparse.identity(len(things), format="csr")[place]]
        for steps in np.diff(STEPS_OF_MEANS).tolist():
            rows.append(reduce(matmul, [means] * steps, rows[-1]))
        found = []
        for source, names, weights in self.lists:
            values = constant_matrix(database, source, things, names)
            added: Floats = np.zeros((len(names), len(self.bias)))
            for row, of_distance in zip(rows, weights, strict=True):
                amounts = np.asarray((row @ values).todense()).ravel()
                added += amounts[:, None] * np.array(of_distance).reshape(len(names), -1)
            each = np.column_stack([np.zeros(len(names)), added]) if added.shape[1] == 1 else added
            relative = each[:, label] - (each.sum(axis=1) - each[:, label]) / (each.shape[1] - 1)
            found += [(name, value) for name, value in zip(names, relative.tolist(), strict=True) if value]
        return sorted(found, key=lambda each: (-abs(each[1]), each[0]))


def chances_of(target: JointTarget, added: Floats) -> Floats:
    """The probability of each label, from the scores of the free labels."""
    scores = added if target.classes else np.column_stack([np.zeros(len(added)), added])
    return np.exp(log_softmax(scores))


def mean_matrix(
    database: Database, links: tuple[Clause, ...], things: Things
) -> tuple[Sparse, npt.NDArray[np.bool_]]:
    """The mean over each thing and those that it is linked to, as a matrix; and which things are linked."""
    total: Sparse = sparse.identity(len(things), format="csr")
    for clause in links:
        chain = chain_of(clause)
        assert chain is not None, clause
        total = total + reach_of(database, chain, things, things).matrix()
    numbers = np.asarray(total.sum(axis=1)).ravel()
    return (sparse.diags(1.0 / numbers) @ total).tocsr(), numbers > 1.0


def constant_matrix(
    database: Database, source: ConstantSource, things: Things, names: tuple[str, ...] | None = None
) -> Sparse:
    """How often each thing has each constant; without names, the columns are all constants of the type."""
    clause, place = source
    last = clause.body[-1]
    assert isinstance(last, Atom)
    marked = Clause(clause.head, (*clause.body, Atom(_END, (last.args[place],))))
    chain = chain_of(marked)
    assert chain is not None, clause
    matrix = link_matrix(database, chain.links[0])[things.keys[:, chain.start].astype(np.int64)]
    for link in chain.links[1:]:
        matrix = matrix @ link_matrix(database, link)
    matrix = matrix.tocsr()
    if names is None:
        return matrix
    predicate, at = source.type_place
    population = database.population(database.schema.types_of(predicate)[at])
    codes = np.asarray(population.encode(np.array(names, dtype=object)), dtype=np.int64)
    missing = codes == UNKNOWN
    matrix = matrix.tocsc()[:, np.where(missing, 0, codes)]
    return (matrix @ sparse.diags((~missing).astype(np.float64))).tocsr()


def is_source(clause: Clause, place: int) -> bool:
    """Whether a body is a chain of links from a thing to the constant at a place of its last atom."""
    if not clause.body or not isinstance(clause.body[-1], Atom) or place >= len(clause.body[-1].args):
        return False
    marked = Clause(clause.head, (*clause.body, Atom(_END, (clause.body[-1].args[place],))))
    return chain_of(marked) is not None


# --- files -----------------------------------------------------------------------------------


def surroundings_fields(model: Surroundings) -> dict[str, object]:
    """The model as JSON values."""
    lists = [
        {
            "clause": str(each.source.clause),
            "place": each.source.place,
            "names": list(each.names),
            "weights": [[list(row) for row in of_distance] for of_distance in each.weights],
        }
        for each in model.lists
    ]
    return {"links": list(map(str, model.links)), "bias": list(model.bias), "constants": lists}


def read_surroundings(schema: Schema, target: JointTarget, fields: Fields) -> Surroundings:
    """The model from JSON values, checked against the schema."""
    links = []
    for text in fields.texts("links"):
        clause = _clause(schema, text, "links", fields)
        chain = chain_of(clause)
        if clause.head.predicate != target.name or chain is None or chain.target != target.name:
            raise fields.wrong("links", f'chains of links from "{target.name}" to itself', text)
        links.append(clause)
    bias = fields.numbers("bias")
    if len(bias) != target.columns:
        raise fields.wrong("bias", f"{target.columns} numbers", list(bias))
    lists = tuple(_read_list(schema, target, each) for each in fields.objects("constants", "list"))
    return Surroundings(tuple(links), bias, lists)


def _read_list(schema: Schema, target: JointTarget, fields: Fields) -> WeightList:
    text, place, names = fields.text("clause"), fields.whole("place"), fields.texts("names")
    clause = _clause(schema, text, "clause", fields)
    if clause.head.predicate != target.name or not is_source(clause, place):
        raise fields.wrong("clause", f'a chain of links from "{target.name}" to constants', text)
    found = fields.values("weights")
    if len(found) != len(DISTANCES):
        raise fields.wrong("weights", f"a list for each of: {', '.join(DISTANCES)}", len(found))
    weights = []
    for of_distance in found:
        rows = of_distance if isinstance(of_distance, list) else []
        if len(rows) != len(names) or any(not isinstance(r, list) or len(r) != target.columns for r in rows):
            raise fields.wrong("weights", f"{len(names)} rows of {target.columns} numbers", len(rows))
        weights.append(tuple(tuple(fields.as_number("weights", n) for n in row) for row in rows))
    fields.close()
    return WeightList(ConstantSource(clause, place), names, tuple(weights))


def _clause(schema: Schema, text: str, name: str, fields: Fields) -> Clause:
    try:
        return parse_clause(text, schema)
    except InputError as error:
        raise fields.wrong(name, f"clauses of the model's schema ({error})", text) from None
