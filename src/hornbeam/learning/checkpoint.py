"""Fits that survive a crash: the steps done, saved after each, and what they belong to.

A checkpoint is one small file. It holds the steps, not the counts: scores are added up again when
a fit goes on, in the same order, so the model comes out the same to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database, Population
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Skipped
from hornbeam.errors import DataError, Place
from hornbeam.files import remove_leftovers, write_file
from hornbeam.learning.history import Record, Step, skipped_fields
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.fields import Fields

FORMAT = 1
FILE = "checkpoint.json"

Marks = Mapping[str, str]
"""A short hash for each thing that a fit depends on."""
Done = TypeVar("Done", bound=Record)


class Saved(NamedTuple, Generic[Done]):
    """What a checkpoint holds: the steps done, the candidates skipped, and why the fit ended if it did."""

    steps: tuple[Done, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None
    chosen: tuple[float, ...] = ()
    """the options that examples held out chose, if they did"""


class Checkpoint(Generic[Done]):
    """The saved state of one fit in a folder of its own; one of another fit is refused.

    ``read`` makes a step of the learner from its JSON values.
    """

    def __init__(self, folder: Path, marks: Marks, read: Callable[[Fields, Schema], Done]) -> None:
        self.folder = folder
        self.marks = dict(marks)
        self.read = read
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
            raise DataError(
                f"cannot be a checkpoint folder ({reason}); name a folder.", Place(str(folder))
            ) from None
        remove_leftovers(folder, FILE)

    def save(
        self,
        steps: Sequence[Done],
        skipped: Sequence[Skipped],
        ended: str | None,
        chosen: Sequence[float] = (),
    ) -> None:
        """Replace the saved state, whole or not at all."""
        document = {
            "format": FORMAT,
            "marks": self.marks,
            "ended": ended or "",
            "chosen": list(chosen),
            "steps": [step.as_dict() for step in steps],
            "skipped": [skipped_fields(each) for each in skipped],
        }
        write_file(self.folder / FILE, json.dumps(document, allow_nan=False) + "\n")

    def load(self, schema: Schema) -> Saved[Done]:
        """What was saved last; there are no steps where nothing was saved yet."""
        path = self.folder / FILE
        place = Place(str(path))
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Saved()
        except (OSError, ValueError):
            raise DataError("cannot be read as a checkpoint; remove it to start anew.", place) from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise DataError("is not a checkpoint of this version; remove it to start anew.", place)
        self._compare(document.get("marks"))
        fields = Fields(document, place)
        skipped = tuple(_read_skipped(each, schema) for each in fields.objects("skipped", "skipped clause"))
        steps = tuple(self.read(each, schema) for each in fields.objects("steps", "step"))
        chosen = fields.numbers("chosen") if fields.has("chosen") else ()
        if len(chosen) not in (0, 3):
            raise fields.wrong("chosen", "three numbers, or none", list(chosen))
        return Saved(steps, skipped, str(document.get("ended") or "") or None, chosen)

    def _compare(self, marks: object) -> None:
        found = marks if isinstance(marks, dict) else {}
        other = [name for name, mark in self.marks.items() if found.get(name) != mark]
        if other:
            raise DataError(
                f"this checkpoint belongs to a fit with other {' and '.join(other)}; "
                "name another folder, or remove it to start anew.",
                Place(str(self.folder)),
            )


def read_step(fields: Fields, schema: Schema) -> Step:
    """A step of boosting clauses, as ``Step.as_dict`` wrote it."""
    w0, w1, w2 = fields.numbers("weights")
    clause = parse_clause(fields.text("clause"), schema)
    total, feature = fields.whole("total"), fields.text("feature")
    each = fields.whole("each") if fields.has("each") else None
    return Step(
        number=fields.whole("step"),
        weighted=WeightedClause(clause, (w0, w1, w2), total, feature, each),
        error_before=fields.number("error_before"),
        error_after=fields.number("error_after"),
        log_loss=fields.number("log_loss"),
        counted=fields.whole("counted"),
        reused=fields.whole("reused"),
        skipped=fields.whole("skipped"),
        seconds=fields.number("seconds"),
    )


def _read_skipped(fields: Fields, schema: Schema) -> Skipped:
    return Skipped(
        parse_clause(fields.text("clause"), schema),
        fields.text("reason"),
        fields.whole("estimate"),
        fields.whole("budget"),
    )


# --- what a checkpoint belongs to --------------------------------------------------------------


def fingerprint(
    database: Database,
    target: str,
    keys: Codes,
    labels: npt.NDArray[np.int8],
    settings: Mapping[str, object],
    memory: int,
) -> Marks:
    """Hashes of schema and modes, facts, examples and options.

    By names, not codes, and of sets, not lists: the order of facts, examples and modes is no part
    of it. The memory budget is, because it decides which candidates are skipped.
    """
    predicates = database.schema.predicates
    names = {type_name: _name_hashes(database.population(type_name)) for type_name in database.schema.types()}
    populations = [(type_name, _set_hash(hashes[:, :-1])) for type_name, hashes in sorted(names.items())]
    facts = []
    for predicate, relation in sorted(database.relations.items()):
        if len(relation):
            of_arguments = [names[t] for t in predicates[predicate]]
            rows = _row_hash(of_arguments, relation.columns, database.times.get(predicate))
            facts.append((predicate, rows))
    of_arguments = [names[t] for t in predicates[target]]
    cutoffs = database.cutoffs_of(target, keys)
    examples = []
    for label in (0, 1):
        rows_of_label = labels == label
        columns = [keys[rows_of_label, position] for position in range(len(of_arguments))]
        times = None if cutoffs is None else cutoffs[rows_of_label]
        examples.append(_row_hash(of_arguments, columns, times))
    in_place = None if database.tables is None else database.tables.fingerprint()
    return {
        "schema or modes": _short(
            sorted(predicates.items()),
            sorted(database.schema.numeric.items()),
            sorted(map(str, database.modes)),
        ),
        "facts": _short(facts, populations, in_place),
        "examples": _short(target, len(labels), examples),
        "options": _short(sorted(settings.items()), memory),
    }


Hashes = npt.NDArray[np.uint64]
"""Two independent hashes of 64 bits for each thing, one row each."""
_ROWS = 1 << 16


def _name_hashes(population: Population) -> Hashes:
    """Hashes of the names by code; the last one is for a key that has no code."""
    digests = [_digest(name) for name in population.names]
    digests.append(_digest("unknown key", person=b"unknown"))
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 2).T


def _digest(text: str, person: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest()


def _row_hash(
    names: Sequence[Hashes], columns: Sequence[Codes], times: Floats | None = None
) -> tuple[int, int]:
    """The hash of a set of rows of codes, perhaps with times: whatever their order, and by name."""
    first, second = 0, 0
    for start in range(0, len(columns[0]), _ROWS):
        mixed = np.zeros((2, 1), dtype=np.uint64)
        for hashes, column in zip(names, columns, strict=True):
            # Mixing between columns tells friends(ann,bob) from friends(bob,ann).
            mixed = _mixed(mixed + hashes[:, column[start : start + _ROWS]])
        if times is not None:
            mixed = _mixed(mixed + (times[start : start + _ROWS] + 0.0).view(np.uint64))
        part = _set_hash(mixed)
        first, second = first + part[0], second + part[1]
    return first % 2**64, second % 2**64


def _set_hash(hashes: Hashes) -> tuple[int, int]:
    """Sums do not depend on the order; each term is mixed, so that they depend on all else."""
    first, second = _mixed(hashes).sum(axis=1, dtype=np.uint64).tolist()
    return first, second


def _mixed(values: Hashes) -> Hashes:
    values = values ^ (values >> np.uint64(32))
    values = values * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(29))


def _short(*parts: object) -> str:
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
