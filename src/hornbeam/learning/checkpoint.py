"""Checkpoints: the steps of a fit, saved after each one, and a fingerprint of the fit.

A checkpoint is one small file. It holds the steps, not the counts. When a fit continues, the scores are
added again in the same order, so that the model is the same to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.data.rows import hash_of_rows, hash_of_set, name_hashes
from hornbeam.engines.contract import Skipped
from hornbeam.errors import DataError, Place
from hornbeam.files import remove_leftovers, write_file
from hornbeam.learning.history import Record, Round, Step, skipped_fields
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.fields import Fields

FORMAT = 1
FILE = "checkpoint.json"

Fingerprint = Mapping[str, str]
"""A hash of each input of a fit, under the name that messages use for it."""
Done = TypeVar("Done", bound=Record)


class Replay(NamedTuple):
    """The choices of a fit that takes its steps again, in place of their results."""

    candidates: str = ""
    """a hash of the candidates that the numbers refer to"""
    chosen: tuple[tuple[int, ...], ...] = ()
    """for each step, the number of the candidate of each bag, or -1"""


NO_REPLAY = Replay()


class Saved(NamedTuple, Generic[Done]):
    """The contents of a checkpoint: the steps, the candidates skipped, and why the fit ended if it did."""

    steps: tuple[Done, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None
    replay: Replay = NO_REPLAY


class Checkpoint(Generic[Done]):
    """The saved state of one fit in its own folder; the state of a different fit is refused.

    ``read`` makes a step of the learner from its JSON values.
    """

    def __init__(
        self, folder: Path, fingerprint: Fingerprint, read: Callable[[Fields, Schema], Done]
    ) -> None:
        self.folder = folder
        self.fingerprint = dict(fingerprint)
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
        replay: Replay = NO_REPLAY,
    ) -> None:
        """Replace the saved state in one atomic write."""
        document = {
            "format": FORMAT,
            "marks": self.fingerprint,
            "ended": ended or "",
            "steps": [step.as_dict() for step in steps],
            "skipped": [skipped_fields(each) for each in skipped],
        }
        if replay.chosen:
            document |= {"candidates": replay.candidates, "chosen": [list(step) for step in replay.chosen]}
        write_file(self.folder / FILE, json.dumps(document, allow_nan=False) + "\n")

    def load(self, schema: Schema) -> Saved[Done]:
        """The state saved last; without steps if nothing was saved yet."""
        path = self.folder / FILE
        place = Place(str(path))
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Saved()
        except (OSError, ValueError):
            raise DataError("cannot be read as a checkpoint; remove it to start again.", place) from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise DataError("is not a checkpoint of this version; remove it to start again.", place)
        self._check_fingerprint(document.get("marks"))
        fields = Fields(document, place)
        skipped = tuple(_read_skipped(each, schema) for each in fields.objects("skipped", "skipped clause"))
        steps = tuple(self.read(each, schema) for each in fields.objects("steps", "step"))
        return Saved(steps, skipped, str(document.get("ended") or "") or None, _read_replay(fields))

    def check_candidates(self, replay: Replay, candidates: str) -> None:
        """Refuse choices that were made among other candidates, as by another version of the program."""
        if replay.chosen and replay.candidates != candidates:
            self._refuse(["candidates"])

    def _check_fingerprint(self, saved: object) -> None:
        hashes = saved if isinstance(saved, dict) else {}
        different = [name for name, value in self.fingerprint.items() if hashes.get(name) != value]
        if different:
            self._refuse(different)

    def _refuse(self, different: Sequence[str]) -> None:
        raise DataError(
            f"this checkpoint belongs to a fit with different {' and '.join(different)}; "
            "name another folder, or remove it to start again.",
            Place(str(self.folder)),
        )


def read_step(fields: Fields, schema: Schema) -> Step:
    """A step of boosting clauses, as ``Step.as_dict`` wrote it."""
    from hornbeam.logic.parse import parse_clause

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


def read_round(fields: Fields, schema: Schema) -> Round:
    """A few steps of boosting curves, as ``Round.as_dict`` wrote them."""
    held_out, base = (
        fields.number(name) if fields.has(name) else None for name in ("held_out_loss", "base_loss")
    )
    more = (fields.text("measure"),) if fields.has("measure") else ()
    return Round(fields.whole("step"), held_out, base, *more)


def _read_replay(fields: Fields) -> Replay:
    """The choices of a fit, as they were saved; none if nothing is to be taken again."""
    if not fields.has("candidates"):
        return NO_REPLAY
    steps: list[tuple[int, ...]] = []
    for step in fields.values("chosen"):
        if not isinstance(step, list) or not all(type(each) is int and each >= -1 for each in step):
            raise fields.wrong("chosen", "a list of whole numbers from -1 for each step", step)
        steps.append(tuple(step))
    return Replay(fields.text("candidates"), tuple(steps))


def _read_skipped(fields: Fields, schema: Schema) -> Skipped:
    from hornbeam.logic.parse import parse_clause

    return Skipped(
        parse_clause(fields.text("clause"), schema),
        fields.text("reason"),
        fields.whole("estimate"),
        fields.whole("budget"),
    )


# --- the fingerprint of a fit -------------------------------------------------------------------


def fit_fingerprint(
    database: Database, examples: Examples, settings: Mapping[str, object], memory: int
) -> Fingerprint:
    """Hashes of schema and modes, facts, examples and options.

    Names are hashed, not codes, and sets, not lists: the order of facts, examples and modes does not
    matter. The memory budget does, because it decides which candidates are skipped.
    """
    target, keys, labels = examples.target, examples.keys, examples.labels
    predicates = database.schema.predicates
    names = {
        type_name: name_hashes(database.population(type_name).names) for type_name in database.schema.types()
    }
    populations = [(type_name, hash_of_set(hashes[:, :-1])) for type_name, hashes in sorted(names.items())]
    facts = []
    for predicate, relation in sorted(database.relations.items()):
        if len(relation):
            of_arguments = [names[t] for t in predicates[predicate]]
            rows = hash_of_rows(of_arguments, relation.columns, database.times.get(predicate))
            facts.append((predicate, rows))
    of_arguments = [names[t] for t in predicates[target]]
    cutoffs = database.cutoffs_of(target, keys)
    example_hashes = []
    for label in (0, 1):
        rows_of_label = labels == label
        columns = [keys[rows_of_label, position] for position in range(len(of_arguments))]
        times = None if cutoffs is None else cutoffs[rows_of_label]
        example_hashes.append(hash_of_rows(of_arguments, columns, times))
    for numbers in (examples.values, examples.weights):
        if numbers is not None:
            columns = [keys[:, position] for position in range(len(of_arguments))]
            example_hashes.append(hash_of_rows(of_arguments, columns, numbers))
    in_place = None if database.tables is None else database.tables.fingerprint()
    return {
        "schema or modes": _short(
            sorted(predicates.items()),
            sorted(database.schema.numeric.items()),
            sorted(map(str, database.modes)),
        ),
        "facts": _short(facts, populations, in_place),
        "examples": _short(target, len(labels), example_hashes),
        "options": _short(sorted(settings.items()), memory),
    }


def _short(*parts: object) -> str:
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
