"""A folder of facts and examples as a database."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hornbeam.data.build import build
from hornbeam.data.database import Coded, Database, Notice
from hornbeam.errors import DataError, OptionError, Place, SchemaError, did_you_mean, plural
from hornbeam.loading.facts.background import MOST_SHOWN, Background, background_of, first, named_places
from hornbeam.loading.facts.imports import FileRole, SourceFile, read_sources
from hornbeam.loading.facts.infer_modes import infer_modes, infer_target_types
from hornbeam.loading.facts.layout import MODES_INFERRED, find_layout
from hornbeam.loading.facts.reader import Signature
from hornbeam.loading.facts.statements import Import
from hornbeam.loading.kind_of_source import DEFAULT_SPLIT
from hornbeam.loading.modes import target_mode
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.logic.english.nouns import plain_name
from hornbeam.logic.schema import Mode, schema_of

Columns = tuple[Coded, ...]


def load_folder(
    path: str | os.PathLike[str],
    split: str | None = None,
    default_split: str = DEFAULT_SPLIT,
    target: str | None = None,
    examples: Any = None,
    allow_outside: bool = False,
) -> Database:
    """Load facts, modes and examples from a folder: in BoostSRL layout (with a split) or flat.

    The default split is for BoostSRL layout; a flat folder has no splits, and naming one is an error.
    A table of ``examples`` replaces the examples of the target that the folder holds. Files may import files
    from the folder and its parent; ``allow_outside`` allows all others.
    """
    layout = find_layout(Path(path), split, default_split)
    sources = read_sources(layout, None if allow_outside else Path(path))
    background = background_of(sources)
    _check_arities(sources, background)
    atoms = _Atoms.of(sources)
    given = None if examples is None else _given_examples(examples, target, atoms, background)
    if given is not None:
        atoms.examples[given.target] = (tuple(given.examples.keys), given.examples.to_merge().tolist())
    notices = [*layout.notices, *background.notices, *_empty_files(sources), *_mode_like_facts(sources)]
    facts = {name: columns for name, columns in atoms.facts.items() if name not in atoms.examples}
    if background.modes:
        modes, more = _stated_modes(background, facts, atoms, sources)
    else:
        modes, more = _inferred_modes(facts, atoms)
    notices += more
    schema = schema_of(modes)
    ranges = {name: names for name, names in background.ranges.items() if name in schema.types()}
    notices += _unused_facts(sources, atoms, schema.predicates)
    notices += _unused_ranges(background, ranges)
    used = {predicate: columns for predicate, columns in facts.items() if predicate in schema.predicates}
    times = None if given is None else given.examples.cutoffs
    cutoffs = None if given is None or times is None else {given.target: times}
    database = build(schema, modes, used, atoms.examples, ranges, notices, cutoffs=cutoffs)
    if given is None:
        return database
    labelled = given.examples.labelled(database.example_sets[given.target])
    return replace(database, example_sets={**database.example_sets, given.target: labelled})


class _Given(NamedTuple):
    """Examples of a target from a table of their own."""

    target: str
    examples: GivenExamples


def _given_examples(examples: Any, target: str | None, atoms: _Atoms, background: Background) -> _Given:
    from hornbeam.loading.tables.examples import given_examples, read_examples

    name = target.lower() if target is not None else next(iter(atoms.examples), "")
    if target is None and len(atoms.examples) != 1:
        raise OptionError("the data have several targets or none; name the target of the examples.")
    arities = {mode.predicate: len(mode.args) for mode in background.modes}
    arities |= {other: len(columns) for other, (columns, _) in atoms.examples.items()}
    if name not in arities:
        raise OptionError(f'no target "{target}". {did_you_mean(name, arities, "Targets")}')
    given = given_examples(read_examples(examples), [()] * arities[name], None, [plain_name(name)])
    if given.classes:
        raise DataError(f'labels of "{name}" must be 0 and 1, or true and false; found "{given.classes[0]}".')
    return _Given(name, given)


@dataclass(frozen=True, slots=True)
class _Atoms:
    """Facts and labelled examples in columns, by predicate."""

    facts: dict[str, Columns]
    examples: dict[str, tuple[Columns, Sequence[int]]]

    @classmethod
    def of(cls, sources: Iterable[SourceFile]) -> _Atoms:
        facts: dict[str, list[Columns]] = {}
        examples: dict[str, list[tuple[Columns, int]]] = {}
        for source in sources:
            for (predicate, _), columns in source.contents.facts.items():
                if source.role.gives_examples:
                    label = int(source.role is FileRole.POSITIVES)
                    examples.setdefault(predicate, []).append((columns, label))
                else:
                    facts.setdefault(predicate, []).append(columns)
        return cls(
            {predicate: _joined(files) for predicate, files in facts.items()},
            {predicate: _joined_examples(files) for predicate, files in examples.items()},
        )


def _joined(files: Sequence[Columns]) -> Columns:
    """The rows of several files in one set of columns."""
    return tuple(_concatenated(columns) for columns in zip(*files, strict=True))


def _joined_examples(files: Sequence[tuple[Columns, int]]) -> tuple[Columns, Sequence[int]]:
    labels = np.concatenate([np.full(len(columns[0]), label, dtype=np.int8) for columns, label in files])
    return _joined([columns for columns, _ in files]), labels  # type: ignore[return-value]


def _concatenated(columns: Sequence[Coded]) -> Coded:
    if len(columns) == 1:
        return columns[0]
    names: list[str] = []
    codes = []
    for column in columns:
        codes.append(column.codes + np.int32(len(names)))
        names.extend(column.names)
    return Coded(names, np.concatenate(codes))


def _names(columns: Columns) -> list[frozenset[str]]:
    return [frozenset(column.names) for column in columns]


# --- modes -----------------------------------------------------------------------------------


def _inferred_modes(facts: Mapping[str, Columns], atoms: _Atoms) -> tuple[tuple[Mode, ...], list[Notice]]:
    inferred = infer_modes(
        {predicate: _names(columns) for predicate, columns in facts.items()},
        {target: _names(columns) for target, (columns, _) in atoms.examples.items()},
    )
    return inferred.modes, [MODES_INFERRED, *inferred.notices]


def _stated_modes(
    background: Background, facts: Mapping[str, Columns], atoms: _Atoms, sources: Iterable[SourceFile]
) -> tuple[tuple[Mode, ...], list[Notice]]:
    """The modes of the background, and one for each target that has none there."""
    modes = list(background.modes)
    types = schema_of(modes).predicates
    notices = _modes_without_facts(background, atoms)
    missing = [target for target in atoms.examples if target not in types]
    if missing:
        populations = _populations(types, facts, atoms, background)
        for target in missing:
            columns = atoms.examples[target][0]
            try:
                own = infer_target_types(target, _names(columns), populations)
            except SchemaError as error:
                place = _first_example(sources, (target, len(columns)))
                raise SchemaError(error.message, place) from None
            modes.append(target_mode(target, own))
        added = " ".join(map(str, modes[-len(missing) :]))
        notices.append(
            Notice(
                f"targets without a mode were given the types that their constants have elsewhere: {added}"
            )
        )
    return tuple(modes), notices


def _modes_without_facts(background: Background, atoms: _Atoms) -> list[Notice]:
    places: dict[str, Place] = {}
    for mode, place in background.modes.items():
        if mode.predicate not in atoms.facts and mode.predicate not in atoms.examples:
            places.setdefault(mode.predicate, place)
    if not places:
        return []
    shown = named_places(places, len(places))
    return [Notice(f"predicates with a mode but without facts are false everywhere: {shown}.", first(places))]


def _first_example(sources: Iterable[SourceFile], signature: Signature) -> Place | None:
    for source in sources:
        if source.role.gives_examples and signature in source.contents.facts:
            return source.contents.first_place(signature)
    return None


def _populations(
    types: Mapping[str, tuple[str, ...]], facts: Mapping[str, Columns], atoms: _Atoms, background: Background
) -> dict[str, frozenset[str]]:
    """The constants of each type in ranges, facts and examples; ``types`` has the types of each predicate."""
    populations: dict[str, set[str]] = {type_name: set() for own in types.values() for type_name in own}
    for type_name, names in background.ranges.items():
        populations.setdefault(type_name, set()).update(names)
    examples = {target: columns for target, (columns, _) in atoms.examples.items()}
    for predicate, columns in [*facts.items(), *examples.items()]:
        for type_name, column in zip(types.get(predicate, ()), columns, strict=False):
            populations[type_name].update(column.names)
    return {type_name: frozenset(names) for type_name, names in populations.items()}


# --- checks and notices ----------------------------------------------------------------------


def _check_arities(sources: Sequence[SourceFile], background: Background) -> None:
    """Check that every atom of a predicate has as many arguments as its mode, or else as its first atom."""
    stated = {mode.predicate: (mode, place) for mode, place in reversed(background.modes.items())}
    seen: dict[str, dict[int, SourceFile]] = {}
    for source in sources:
        for predicate, arity in source.contents.facts:
            if predicate in stated:
                _check_arity(source, (predicate, arity), *stated[predicate])
            seen.setdefault(predicate, {}).setdefault(arity, source)
    for predicate, arities in seen.items():
        if len(arities) > 1:
            (_, before, expected), (_, here, arity) = sorted(
                (
                    (sources.index(source), source.contents.first_place((predicate, arity)), arity)
                    for arity, source in arities.items()
                ),
                key=lambda seen: (seen[0], seen[1].line, seen[1].column),
            )[:2]
            raise SchemaError(
                f'"{predicate}" has {plural(arity, "argument")} here, but {expected} at {before}; '
                "give it the same number everywhere.",
                here,
            )


def _check_arity(source: SourceFile, signature: Signature, mode: Mode, place: Place) -> None:
    predicate, arity = signature
    if len(mode.args) != arity:
        types = ",".join(arg.type for arg in mode.args)
        raise SchemaError(
            f'"{predicate}" has {plural(arity, "argument")} here, but takes {len(mode.args)} '
            f"by its mode at {place}: {predicate}({types}).",
            source.contents.first_place(signature),
        )


def _empty_files(sources: Iterable[SourceFile]) -> list[Notice]:
    notices = []
    for source in sources:
        others = source.contents.others
        if source.role is not FileRole.BACKGROUND:
            others = tuple(statement for statement in others if isinstance(statement, Import))
        if not source.contents.facts and not others:
            notices.append(
                Notice(f"no {source.role.value} in this file.", Place(source.contents.text.source))
            )
    return notices


def _mode_like_facts(sources: Iterable[SourceFile]) -> list[Notice]:
    """A notice about facts that look like modes written without ``mode:``."""
    for source in sources:
        for signature, columns in source.contents.facts.items():
            if source.contents.bare_modes or not all(
                any(map(_is_marked, column.names)) for column in columns
            ):
                continue
            marked = np.ones(len(columns[0]), dtype=bool)
            for column in columns:
                marked &= np.fromiter(map(_is_marked, column.names), dtype=bool)[column.codes]
            if marked.any():
                row = int(marked.argmax())
                names = ",".join(column.names[column.codes[row]] for column in columns)
                message = (
                    f"{signature[0]}({names}) is read as a fact, though it looks like a mode; "
                    'write "mode:" before modes, or keep them in background.txt.'
                )
                return [Notice(message, source.contents.first_place(signature))]
    return []


def _is_marked(name: str) -> bool:
    return name[:1] in ("+", "-", "#") and name[1:].isidentifier()


def _unused_facts(
    sources: Iterable[SourceFile], atoms: _Atoms, known: Mapping[str, tuple[str, ...]]
) -> list[Notice]:
    targets: dict[str, Place] = {}
    without_mode: dict[str, Place] = {}
    for source in sources:
        if source.role.gives_examples:
            continue
        for signature in source.contents.facts:
            predicate = signature[0]
            if predicate in atoms.examples:
                unused = targets
            elif predicate not in known:
                unused = without_mode
            else:
                continue
            if predicate not in unused and len(unused) < MOST_SHOWN:
                unused[predicate] = source.contents.first_place(signature)
    notices = []
    if targets:
        shown = ", ".join(f"{name} ({len(atoms.facts[name][0]):,})" for name in targets)
        notices.append(
            Notice(
                f"facts of targets are not used, because targets are known by their examples: {shown}.",
                first(targets),
            )
        )
    if without_mode:
        shown = ", ".join(f"{name} ({len(atoms.facts[name][0]):,})" for name in without_mode)
        notices.append(
            Notice(
                f"facts without a mode are not used (add modes to use them): {shown}.", first(without_mode)
            )
        )
    return notices


def _unused_ranges(background: Background, used: Mapping[str, Sequence[str]]) -> list[Notice]:
    places = {name: place for name, place in background.range_places.items() if name not in used}
    if not places:
        return []
    return [
        Notice(
            f"ranges of types that no mode has are not used: {named_places(places, len(places))}.",
            first(places),
        )
    ]
