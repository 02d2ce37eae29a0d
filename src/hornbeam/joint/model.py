"""Joint models, and their files: for each target a separate model, and terms over labels of neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine
from hornbeam.errors import InputError, plural
from hornbeam.joint.neighbours import READINGS, Neighbours, OwnScores, Term, TermWeights, chain_of, own_scores
from hornbeam.joint.surroundings import Surroundings, read_surroundings, surroundings_fields
from hornbeam.joint.things import JointTarget, Things
from hornbeam.joint.words import neighbours_text
from hornbeam.logic.clauses import Clause, atoms_of
from hornbeam.logic.english.wording import PLAIN, Wording
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.fields import Fields
from hornbeam.model.files import (
    JOINT,
    Common,
    LearnedModel,
    ModelKind,
    fields_of,
    read_fields,
    register_kind,
)

LEAST_SHARE = 1e-6
"""Shares of known labels are not taken to be smaller."""


class KnownLabel(NamedTuple):
    """The keys of a target, as names, that have a label in training."""

    target: str
    label: int
    keys: tuple[tuple[str, ...], ...]


def label_chances(target: JointTarget, model: LearnedModel, engine: Engine, keys: Codes) -> Floats:
    """The probability of each label of a target, from a model of it."""
    chances = model.probabilities(engine, keys)
    return chances if target.classes else np.column_stack([1.0 - chances, chances])


@dataclass(frozen=True)
class JointMember:
    """One target of a joint model: its separate model, and its neighbours for some shares of known labels."""

    target: JointTarget
    model: LearnedModel
    neighbours: tuple[Neighbours, ...]
    inner: LearnedModel | None = None
    """the model that gives the score beside the neighbours, if it is not the separate one"""
    surroundings: Surroundings | None = None
    """another such model, for the facts of training"""

    def neighbours_for(self, known_share: float, same_facts: bool) -> Neighbours:
        """The terms and weights that were learned with the nearest share of known labels.

        On the facts of training, if neighbours did not help there, those learned with fewer known labels are
        taken: few labels are not enough to learn how guesses confirm each other.
        """
        fitting = [e for e in self.neighbours if (same_facts or e.anywhere) and not e.only_known]
        nearest = min(fitting, key=lambda each: abs(each.known_share - known_share))
        if not same_facts or nearest.helps:
            return nearest
        fewer = [e for e in fitting if e.helps and e.known_share < nearest.known_share]
        alone = Neighbours(nearest.known_share)
        return min(fewer, key=lambda each: each.losses[1] if each.losses else np.inf, default=alone)

    def from_known(self, known_share: float) -> Neighbours | None:
        """The terms and weights for known labels only; None in models of files that have none."""
        fitting = [each for each in self.neighbours if each.only_known]
        # Of few labels, the ratio of shares matters: how many known neighbours a thing has at all.
        least = max(known_share, LEAST_SHARE)
        return min(
            fitting, key=lambda each: abs(log(max(each.known_share, LEAST_SHARE) / least)), default=None
        )

    def together(self, known_share: float) -> Neighbours:
        """The terms and weights with which unknown labels are guessed together in other data."""
        fitting = [e for e in self.neighbours if e.anywhere and not e.once]
        empty = Neighbours(known_share)
        return min(fitting, key=lambda each: abs(each.known_share - known_share), default=empty)

    def chances(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of each label from the separate model."""
        return label_chances(self.target, self.model, engine, keys)

    def own_scores(self, engine: Engine, things: Things, entry: Neighbours) -> OwnScores:
        """What the separate model says of each thing, and the scores of the model beside the neighbours."""
        chances = self.chances(engine, things.keys)
        if entry.around and self.surroundings is not None:
            return own_scores(self.target, chances, *self.surroundings.around(engine.database, things))
        inside = None
        if entry.inner and self.inner is not None:
            inside = label_chances(self.target, self.inner, engine, things.keys)
        return own_scores(self.target, chances, inside)

    @property
    def wording(self) -> Wording:
        """The user's words for the target and its data."""
        model = self.model.models[0] if isinstance(self.model, ClassModel) else self.model
        return model.wording if isinstance(model, Model) else PLAIN

    def words(self, targets: dict[str, JointTarget]) -> str:
        """The target for people: what neighbours do, and the separate model, in sentences."""
        text = neighbours_text(self.neighbours, targets, self.target, (self.model.schema, self.wording))
        alone = self.model.words() if isinstance(self.model, ClassModel | Model) else str(self.model)
        return f"{text}\n\nThe separate model of {self.target.name}:\n{alone}"

    def __str__(self) -> str:
        lines = [f"target {self.target.name}: {self.model.size_text}"]
        for each in self.neighbours:
            losses = ""
            if each.losses is not None:
                losses = f"; held-out log-loss {each.losses[0]:.4f} alone, {each.losses[1]:.4f} together"
            where = "" if each.anywhere else ", on the facts of training"
            where += ", from known labels only" if each.only_known else ""
            share = f"about {100 * each.known_share:.3g} % of the labels"
            lines.append(f"neighbours{where}, if {share} are known{losses}")
            lines += [f"  {line}" for line in self._terms(each)] or ["  none: each thing is predicted alone"]
        if self.surroundings is not None:
            lines.append(f"surroundings model: {self.surroundings.size_text}")
        return "\n".join(lines)

    def _terms(self, neighbours: Neighbours) -> list[str]:
        lines = []
        for term, weights in zip(neighbours.terms, neighbours.weights, strict=True):
            texts = [f"same {weights.same:+.3g}"] if weights.same else []
            if weights.pairs and not self.target.classes and len(weights.pairs) == 1:
                texts.append(f"{weights.pairs[0][0]:+.3g}")
            elif weights.pairs:
                texts.append(f"{len(weights.pairs)} x {len(weights.pairs[0])} pairs of labels")
            lines.append(f"[{', '.join(texts)}] {term}")
        if neighbours.used:
            of = "inner model, which follows one link at most" if neighbours.inner else "separate model"
            of = "surroundings model" if neighbours.around else of
            lines.append(f"[{1.0 + neighbours.own:.3g}] score of the {of}")
        return lines


@dataclass(frozen=True)
class JointModel:
    """Models of targets that depend on each other."""

    members: tuple[JointMember, ...]
    schema: Schema
    known: tuple[KnownLabel, ...] = ()
    facts: str = ""
    """the fingerprint of the facts of training: on these facts, ``known`` is the evidence"""
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = JOINT

    def __str__(self) -> str:
        parts = [
            f"{member}\n\nseparate model of {member.target.name}\n{member.model}" for member in self.members
        ]
        return "\n\n".join(parts)

    def words(self) -> str:
        """The model for people: each target in sentences."""
        targets = {member.target.name: member.target for member in self.members}
        return "\n\n".join(member.words(targets) for member in self.members)

    @property
    def target(self) -> str:
        """The first target."""
        return self.members[0].target.name

    @property
    def prior(self) -> float:
        """Zero: each separate model has its own prior."""
        return 0.0

    @property
    def size_text(self) -> str:
        """The number of targets and of terms over neighbours."""
        n_terms = sum(len(each.terms) for member in self.members for each in member.neighbours[:1])
        return f"{plural(len(self.members), 'target')} and {plural(n_terms, 'term')} over neighbours"

    def member(self, name: str) -> JointMember:
        return next(member for member in self.members if member.target.name == name)

    def predicates(self) -> tuple[str, ...]:
        """The predicates whose facts the models read, sorted; targets are not facts."""
        named: set[str] = set()
        for member in self.members:
            for model in (member.model, member.inner, member.surroundings):
                named.update(() if model is None else model.predicates())
        for member in self.members:
            for each in member.neighbours:
                named |= {a.predicate for term in each.terms for c in term.clauses for a in atoms_of(c.body)}
        return tuple(sorted(named - {member.target.name for member in self.members}))

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """What the separate model of the first target says; ``joint.predict`` predicts together."""
        return self.members[0].model.probabilities(engine, keys)

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The scores of the separate model of the first target."""
        return self.members[0].model.scores(engine, keys)


# --- files -----------------------------------------------------------------------------------

_FLAGS = ("only_known", "around", "heard_once")
"""Fields of neighbours that a file has only if they are true."""


def _fields(model: JointModel) -> dict[str, object]:
    return {
        "targets": [_member_fields(member) for member in model.members],
        "known": [
            {"target": each.target, "label": each.label, "keys": list(map(list, each.keys))}
            for each in model.known
        ],
        "facts": model.facts,
    }


def _member_fields(member: JointMember) -> dict[str, object]:
    return {
        "target": member.target.name,
        "classes": list(member.target.classes),
        "learner": member.model.learner,
        "model": fields_of(member.model),
        **({} if member.inner is None else {"inner": fields_of(member.inner)}),
        **({} if member.surroundings is None else {"surroundings": surroundings_fields(member.surroundings)}),
        "neighbours": [_neighbour_fields(each) for each in member.neighbours],
    }


def _neighbour_fields(each: Neighbours) -> dict[str, object]:
    terms = [
        {
            "of": term.target,
            "reading": term.reading,
            "clauses": list(map(str, term.clauses)),
            "same": weights.same,
            "pairs": [list(row) for row in weights.pairs],
        }
        for term, weights in zip(each.terms, each.weights, strict=True)
    ]
    more: dict[str, object] = {} if each.losses is None else {"losses": list(each.losses)}
    more |= {name: 1 for name in _FLAGS if getattr(each, name)}
    return {
        "inner": int(each.inner),
        "anywhere": int(each.anywhere),
        "known_share": each.known_share,
        "own": each.own,
        "bias": list(each.bias),
        "terms": terms,
        **more,
    }


def _read(common: Common, fields: Fields) -> JointModel:
    members = tuple(_read_member(common, each) for each in fields.objects("targets", "target"))
    if not members or members[0].target.name != common.target:
        raise fields.wrong("targets", f'a list that begins with "{common.target}"', len(members))
    sizes = {member.target.name: member.target.size for member in members}
    _check_terms(members, fields)
    known = []
    for each in fields.objects("known", "known label"):
        name, label = each.text("target"), each.whole("label")
        if name not in sizes or label >= sizes[name]:
            raise each.wrong("label", "the number of a label of a target of the model", label)
        keys = each.values("keys")
        arity = common.schema.arity(name)
        if not all(isinstance(k, list) and len(k) == arity and all(map(_is_text, k)) for k in keys):
            raise each.wrong("keys", f"lists of {arity} names", keys[:1])
        known.append(
            KnownLabel(name, label, tuple(tuple(map(str, key)) for key in keys if isinstance(key, list)))
        )
        each.close()
    facts = fields.text("facts")
    return JointModel(members, common.schema, tuple(known), facts, common.settings)


def _check_terms(members: Sequence[JointMember], fields: Fields) -> None:
    """Refuse terms about targets that the model does not have, and weights that do not fit their labels."""
    targets = {member.target.name: member.target for member in members}
    if len(targets) < len(members):
        raise fields.wrong("targets", "each target once", [member.target.name for member in members])
    for member in members:
        for each in member.neighbours:
            for term, weights in zip(each.terms, each.weights, strict=True):
                if term.target not in targets:
                    raise fields.wrong("of", "a target of the model", term.target)
                if weights.pairs and len(weights.pairs) != targets[term.target].columns:
                    raise fields.wrong("pairs", f"{targets[term.target].columns} rows", len(weights.pairs))
                if weights.same and term.target != member.target.name:
                    raise fields.wrong("same", "0 for another target", weights.same)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _read_member(common: Common, fields: Fields) -> JointMember:
    target = JointTarget(fields.text("target"), fields.texts("classes"))
    if target.name not in common.schema.predicates:
        raise fields.wrong("target", "a predicate of the schema", target.name)
    learner = fields.text("learner")
    if learner == JOINT:
        raise fields.wrong("learner", "the learner of a separate model", learner)
    models = []
    for name in ("model", "inner"):
        if name == "model" or fields.has(name):
            nested = fields.nested(name)
            models.append(read_fields(common._replace(target=target.name, learner=learner), nested))
            nested.close()
    surroundings = None
    if fields.has("surroundings"):
        nested = fields.nested("surroundings")
        surroundings = read_surroundings(common.schema, target, nested)
        nested.close()
    neighbours = tuple(
        _read_neighbours(common, target, each) for each in fields.objects("neighbours", "entry")
    )
    if not any(each.anywhere and not each.only_known for each in neighbours):
        raise fields.wrong("neighbours", "at least one entry for any data", [])
    if len(models) == 1 and any(each.inner and each.terms and not each.around for each in neighbours):
        raise fields.wrong("inner", "the inner model, which the neighbours need", None)
    if surroundings is None and any(each.around for each in neighbours):
        raise fields.wrong("surroundings", "the surroundings model, which the neighbours need", None)
    fields.close()
    inner = models[1] if len(models) > 1 else None
    return JointMember(target, models[0], neighbours, inner, surroundings)


def _read_neighbours(common: Common, target: JointTarget, fields: Fields) -> Neighbours:
    terms, weights = [], []
    for each in fields.objects("terms", "term"):
        reading = each.text("reading")
        if reading not in READINGS:
            raise each.wrong("reading", " or ".join(READINGS), reading)
        of = each.text("of")
        clauses = tuple(_read_chain(common, target, of, text, each) for text in each.texts("clauses"))
        if not clauses:
            raise each.wrong("clauses", "at least one clause", [])
        rows = each.values("pairs")
        pairs = tuple(
            tuple(each.as_number("pairs", n) for n in (row if isinstance(row, list) else [row]))
            for row in rows
        )
        if any(len(row) != target.columns for row in pairs):
            raise each.wrong("pairs", f"rows of {target.columns} numbers", rows)
        terms.append(Term(of, reading, clauses))
        weights.append(TermWeights(each.number("same"), pairs))
        each.close()
    losses = fields.numbers("losses") if fields.has("losses") else None
    bias = fields.numbers("bias")
    if len(bias) != target.columns and terms:
        raise fields.wrong("bias", f"{target.columns} numbers", list(bias))
    pair = None if losses is None or len(losses) != 2 else (losses[0], losses[1])
    share, own = fields.number("known_share"), fields.number("own")
    inner, anywhere = bool(fields.whole("inner")), bool(fields.whole("anywhere"))
    flags = [fields.has(name) and bool(fields.whole(name)) for name in _FLAGS]
    if len(bias) != target.columns and flags[1]:
        raise fields.wrong("bias", f"{target.columns} numbers", list(bias))
    fields.close()
    return Neighbours(share, tuple(terms), own, bias, tuple(weights), pair, inner, anywhere, *flags)


def _read_chain(common: Common, target: JointTarget, of: str, text: str, fields: Fields) -> Clause:
    try:
        clause = parse_clause(text, common.schema)
    except InputError as error:
        raise fields.wrong("clauses", f"clauses of the model's schema ({error})", text) from None
    chain = chain_of(clause)
    if clause.head.predicate != target.name or chain is None or chain.target != of:
        raise fields.wrong("clauses", f'chains of links from "{target.name}" to "{of}"', text)
    return clause


register_kind(JOINT, ModelKind(_fields, _read))
