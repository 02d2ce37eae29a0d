"""Random worlds compared with an oracle: ``python reliability/campaign.py --worlds 2000 --record``.

Each world is tables, examples with or without cut-offs, and two models: a learned one and one of random
effects of every kind. Values of effects, predictions, counts, ``transform`` and the rows of exported SQL are
compared with ``oracle.py``, which shares no code with the package.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import hornbeam as hb
import oracle
import random_worlds
from hornbeam.engines.registry import open_engine
from hornbeam.errors import HornbeamError, LimitError
from hornbeam.logic import features as kinds
from hornbeam.model.class_model import ClassModel
from hornbeam.model.effects import values_of
from hornbeam.model.files import LearnedModel, predictions_of
from hornbeam.model.predict import data_for
from hornbeam.model.scales import SCALES, SOFTMAX
from random_worlds import ASKED, World
from results import ROOT, record, recorded
from systems import POSTGRES, Systems, available

TARGET = "wanted"
CLASSES = SOFTMAX
FLAVOURS = tuple(SCALES)
"""What is learned: by each loss; that of classes learns three."""
EPOCH = datetime(1970, 1, 1)
EVERY = 5
"""One world of so many stands in PostgreSQL, too; each of the other systems has one world of two."""
EFFECTS = 4


class Tried(NamedTuple):
    """One world, what the oracle knows of it, and what was compared so far."""

    number: int
    world: World
    flavour: str
    reader: oracle.Reader
    draw: random.Random
    compared: Counter[str]
    faults: list[dict[str, object]]

    @property
    def learns(self) -> bool:
        """Whether the learned model follows links and is compared, too; a fit takes most of the time."""
        return self.number % 3 == 0

    @property
    def choice(self) -> str:
        """The column of the users that says which of them are one choice."""
        return self.world.users.columns[2].name

    def fault(self, where: str, what: object, **more: object) -> None:
        self.faults.append({"world": self.number, "where": where, "what": what, **more})

    def check(self, kind: str, where: str, text: str, pairs: Iterable[tuple[Any, Any, Any]]) -> None:
        """Compare what is expected of each example with what was found; keep the first difference."""
        for example, expected, found in pairs:
            self.compared[kind] += 1
            if not _equal(expected, found, 1e-6 if "spread" in text else 1e-9):
                self.fault(where, text, example=str(example), expected=str(expected), found=str(found))
                return


def _number(value: Any) -> float:
    if value is None or value is pd.NaT:
        return math.nan
    if isinstance(value, datetime):
        return float((value.replace(tzinfo=None) - EPOCH).total_seconds() * 1e6)
    return float(value)


def _equal(expected: Any, found: Any, absolute: float) -> bool:
    one, other = _number(expected), _number(found)
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-9, abs_tol=absolute)


def systems_of(number: int) -> list[str]:
    """The systems that a world stands in: DuckDB or SQLite, and now and then PostgreSQL."""
    chosen = {("duckdb", "sqlite")[number // len(FLAVOURS) % 2], *([POSTGRES] if number % EVERY == 0 else [])}
    return [each for each in available() if each in chosen]


def tried(number: int) -> Tried:
    """Make a world and compare everything in it."""
    draw, systems = random.Random(number), systems_of(number)
    world = random_worlds.random_world(draw)
    flavour = FLAVOURS[number % len(FLAVOURS)]
    if flavour == "choice":
        # The alternatives of a choice have one cut-off.
        keys = dict.fromkeys(each.key for each in world.examples)
        cutoff = max((each.cutoff for each in world.examples if each.cutoff), default=None)
        world = world._replace(examples=[oracle.Example(key, cutoff) for key in keys])
    reader = oracle.Reader(oracle.facts_of(world.tables, world.timed), world.at_cutoff == "include", {})
    one = Tried(number, world, flavour, reader, draw, Counter(), [])
    with tempfile.TemporaryDirectory(prefix="hornbeam-campaign-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _compare_all(one, Path(name), systems)
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            one.fault(
                "error", f"{type(error).__name__}: {error}", line=f"{Path(at.filename).name}:{at.lineno}"
            )
    return one


def _compare_all(one: Tried, folder: Path, systems: Sequence[str]) -> None:
    first, second = one.draw.sample(sorted(random_worlds.SOURCES), 2)
    with closing(_loaded(one, first, None, folder)) as database, Systems(one.world) as held:
        learner = _fitted(one, database)
        seen = {f"{first} loaded": database}
        if one.draw.random() < 0.5:
            engine = "duckdb" if second != "frames" and one.draw.random() < 0.7 else None
            seen[f"{second} {engine or 'loaded'}"] = _loaded(one, second, engine, folder)
        if POSTGRES in systems:
            own = one.draw.choice([None, POSTGRES])
            seen[f"{POSTGRES} {own or 'loaded'}"] = _read(one, held.server(), POSTGRES, own)
        for path in _models(one, learner, folder):
            model = json.loads(path.read_text())
            expected = _expected(one, model)
            if expected is None:
                one.compared["too large"] += 1
                continue
            for where, each in seen.items():
                _compare_database(one, path, where, each, expected)
            _compare_transform(one, learner, path, model, expected)
            for system in systems:
                _compare_sql(one, system, path, expected, held)
        _compare_counts(one, database)
        for each in seen.values():
            each.close()


def _models(one: Tried, learner: Any, folder: Path) -> list[Path]:
    """The files of a model of random effects and, in some worlds, of one that learned links."""
    learned, made = folder / "learned.json", folder / "random.json"
    hb.save_model(learner.model_, learned)
    made.write_text(json.dumps(_random_model(one, json.loads(learned.read_text()))))
    return [learned, made] if one.learns else [made]


# --- the models --------------------------------------------------------------------------------


def _given(one: Tried) -> list[oracle.Example]:
    """The examples that an estimator takes: all have a cut-off, or none has."""
    return [each for each in one.world.examples if each.cutoff is not None or not one.world.timed]


def _frame(one: Tried, examples: list[oracle.Example], labels: list[Any] | None = None) -> pd.DataFrame:
    key = one.world.users.columns[0].name
    columns: dict[str, list[Any]] = {key: [each.key for each in examples]}
    if one.world.timed:
        columns["cutoff"] = [each.cutoff for each in examples]
    if labels is not None:
        columns["label"] = labels
    return pd.DataFrame(columns)


def _loaded(one: Tried, source: str, engine: str | None, folder: Path) -> hb.Database:
    place = folder / source
    place.mkdir()
    return _read(one, random_worlds.SOURCES[source](one.world, place), source, engine)


def _read(one: Tried, data: object, source: str, engine: str | None) -> hb.Database:
    return hb.load(
        data,
        target=f"{TARGET}({one.world.users.name})",
        schema=random_worlds.schema_for(one.world, source),
        examples=_frame(one, one.world.examples, _labels(one, one.world.examples)),
        engine=engine,
        at_cutoff=one.world.at_cutoff,
    )


def _labels(one: Tried, examples: list[oracle.Example]) -> list[Any]:
    """Labels that depend on the number of rows, so that something is learned."""
    draw = random.Random(one.number)
    size = [
        len(one.reader.groundings(("A",), [_orders_of(one)], each)) + draw.random() * 2 for each in examples
    ]
    if one.flavour == CLASSES:
        return [f"class {round(each) % 3}" for each in size]
    if SCALES[one.flavour].numeric:
        return [round(each, 2) for each in size]
    labels = [int(each > sorted(size)[len(size) // 2]) for each in size]
    return labels if len({*labels}) == 2 else [0, 1] * (len(size) // 2) + [0] * (len(size) % 2)


def _orders_of(one: Tried) -> oracle.Step:
    who = one.world.tables[3].columns[1].name
    return oracle.Step("atom", who, (oracle.word("B"), oracle.word("A")))


def _fitted(one: Tried, database: hb.Database) -> Any:
    options: dict[str, Any] = {"n_bags": 1, "n_steps": 4, "validate": False, "n_jobs": 1}
    options["max_links"] = int(one.learns)
    if one.flavour == "choice":
        options |= {"loss": "choice", "choice": one.choice}
    numeric = one.flavour in SCALES and SCALES[one.flavour].numeric
    if numeric:
        options["loss"] = one.flavour
    learner = (hb.RLRRegressor if numeric else hb.RLRClassifier)(database, TARGET, **options)
    return learner.fit(_frame(one, _given(one)), _labels(one, _given(one)))


def _random_model(one: Tried, learned: dict[str, Any]) -> dict[str, Any]:
    """The learned model with other effects, and with weights per constant."""
    learned["effects"] = []
    learned["clauses"] = [_weighted(one)] if one.draw.random() < 0.6 else []
    while len(learned["effects"]) < EFFECTS:
        # Every kind has its turn, over the worlds.
        kind = [*kinds.KINDS][(one.number * EFFECTS + len(learned["effects"])) % len(kinds.KINDS)]
        learned["effects"].append(_random_effect(one, kind))
    if one.flavour == CLASSES:
        number = len(learned["classes"])
        for each in learned["effects"]:
            each |= {name: _of_classes(one, each[name], number) for name in ("levels", "missing")}
            each |= {"importance": [0.0] * number, "errors": [[]] * number}
        for weighted in learned["clauses"]:
            constants = weighted["constants"]
            weighted["constants"] = {name: _of_classes(one, constants[name], number) for name in constants}
    return learned


def _of_classes(one: Tried, drawn: Any, number: int) -> list[Any]:
    """A number or a list of numbers for each class; those of the first class are given."""

    def other() -> Any:
        sizes = len(drawn) if isinstance(drawn, list) else 1
        found = [round(one.draw.uniform(-1, 1), 3) for _ in range(sizes)]
        return found if isinstance(drawn, list) else found[0]

    return [drawn, *(other() for _ in range(number - 1))]


def _weighted(one: Tried) -> dict[str, Any]:
    likes = one.world.tables[4]
    sids = sorted({str(row[0]) for row in one.world.tables[1].rows})
    weights = {sid: one.draw.uniform(-1, 1) for sid in sids if one.draw.random() < 0.7} or {sids[0]: 0.5}
    return {
        "clause": f"{TARGET}(A) :- {random_worlds.quoted(likes.name)}(A,B).",
        "constants": weights,
        "each": 1,
        "feature": one.draw.choice(["count", "log", "at least 1"]),
        "total": 0,
        "weights": [0.0, 0.0, 0.0],
    }


def _random_effect(one: Tried, kind: str) -> dict[str, Any]:
    bodies = random_worlds.Bodies(one.draw, one.reader.facts, one.world.users.name)
    row = kinds.KINDS[kind]
    while True:
        body, types = bodies.body()
        numbers, dates = row.needs == kinds.NUMBERS, row.needs == kinds.DATES
        feature = bodies.feature(kind, row.has_variable, dates, numbers, types)
        if feature is None:
            continue
        clause = f"{TARGET}(A) :- {body}." if kind != kinds.MONTH else f"{TARGET}(A) :- true."
        try:
            values = [oracle.value(one.reader, feature, clause, each) for each in one.world.examples]
        except oracle.TooManyError:
            continue
        cuts = _cuts(one, values, exact=row.whole or kind in (kinds.MINIMUM, kinds.MAXIMUM, kinds.VALUE))
        levels = [round(one.draw.uniform(-1, 1), 3) for _ in range(len(cuts) + 1)]
        missing = round(one.draw.uniform(-1, 1), 3)
        return {"clause": clause, "feature": feature, "cuts": cuts, "levels": levels, "missing": missing,
                "importance": 0.0, "errors": [], "examples": []}  # fmt: skip


def _cuts(one: Tried, values: list[Any], exact: bool) -> list[Any]:
    """Some cuts: values themselves where these are exact, else between two that are not nearly equal."""
    known = sorted({each for each in values if each is not None})
    if known and isinstance(known[0], datetime):
        days = sorted({each.date() for each in known})
        return [each.isoformat() for each in sorted(one.draw.sample(days, min(len(days), 2)))]
    middles = [(a + b) / 2 for a, b in pairwise(known) if b - a > 1e-4]
    offered = sorted({*middles, *(known if exact else [])})
    return sorted(one.draw.sample(offered, min(len(offered), one.draw.randint(0, 3))))


# --- what is expected, and what is found -------------------------------------------------------


class Expected(NamedTuple):
    """By the oracle: the values of the effects of each part of a model, and predictions, by example."""

    effects: list[tuple[str, dict[oracle.Example, oracle.Value]]]
    predictions: dict[oracle.Example, tuple[float, ...]]


def _expected(one: Tried, model: dict[str, Any]) -> Expected | None:
    examples = one.world.examples
    groups = {str(row[0]): row[2] for row in one.world.users.rows}
    # A choice without a value is one of its own.
    choices = [groups[each.key] or each for each in examples]
    try:
        effects = [
            (
                f"{each['feature']} : {each['clause']}",
                {
                    example: oracle.value(one.reader, each["feature"], each["clause"], example)
                    for example in examples
                },
            )
            for each in model["effects"]
        ]
        said = oracle.predictions(one.reader, model, examples, choices)
    except oracle.TooManyError:
        return None
    return Expected(effects, dict(zip(examples, said, strict=True)))


def _effects_of(model: LearnedModel) -> list[Any]:
    first = model.together()[0] if isinstance(model, ClassModel) else model
    return [fitted.effect for fitted in first.effects]  # type: ignore[attr-defined]


def _compare_database(one: Tried, path: Path, where: str, database: hb.Database, expected: Expected) -> None:
    where = f"{where}, {path.stem}"
    learned = hb.load_model(path)
    seen, _ = data_for(learned, database)
    keys = seen.examples_of(TARGET).keys
    in_place = where.split()[1].rstrip(",")
    opened = open_engine(one.draw.choice(["memory", "duckdb"]) if in_place == "loaded" else in_place, seen)
    examples = _examples(seen, keys)
    for (text, values), found in zip(
        expected.effects, values_of(opened, _effects_of(learned), keys), strict=True
    ):
        one.compared[f"kind {_kind(text)}"] += len(examples)
        one.check(
            "values", where, text, ((each, values[each], f) for each, f in zip(examples, found, strict=True))
        )
    said = predictions_of(learned, opened, keys).reshape(len(keys), -1).tolist()
    one.compared[f"loss {one.flavour}"] += len(examples)
    for example, row in zip(examples, said, strict=True):
        one.check("predictions", where, "prediction", _by_class(example, expected.predictions[example], row))


def _by_class(
    example: object, expected: Sequence[float], found: Sequence[float]
) -> list[tuple[object, float, float]]:
    return [(example, *pair) for pair in zip(expected, found, strict=True)]


def _kind(text: str) -> str:
    name = text.partition(" : ")[0]
    return name if name in kinds.KINDS else name.rsplit(" ", 1)[0]


def _examples(database: hb.Database, keys: Any) -> list[oracle.Example]:
    cutoffs = database.real_cutoffs_of(TARGET, keys)
    ends = [math.inf] * len(keys) if cutoffs is None else cutoffs.tolist()
    return [
        oracle.Example(str(name[0]), _moment(end))
        for name, end in zip(database.names_of(TARGET, keys), ends, strict=True)
    ]


def _moment(end: float) -> datetime | None:
    return None if math.isinf(end) else datetime.fromtimestamp(end / 1e6, UTC).replace(tzinfo=None)


def _compare_transform(
    one: Tried, learner: Any, path: Path, model: dict[str, Any], expected: Expected
) -> None:
    """The values of effects, and what they add, as columns in Python."""
    if one.flavour == CLASSES:
        return
    before, learner.model_ = learner.model_, hb.load_model(path)
    examples = _given(one)
    try:
        for kind in ("values", "log-odds"):
            table = learner.transform(_frame(one, examples), kind=kind)
            columns = table[:, table.shape[1] - len(expected.effects) :].T
            for effect, (text, values), found in zip(
                model["effects"], expected.effects, columns, strict=True
            ):
                known = [values[each] for each in examples]
                if kind == "log-odds":
                    known = [oracle.level(effect, each) for each in known]
                one.check(
                    "transform",
                    f"transform {kind}, {path.stem}",
                    text,
                    zip(examples, known, found, strict=True),
                )
    finally:
        learner.model_ = before


def _compare_counts(one: Tried, database: hb.Database) -> None:
    bodies = random_worlds.Bodies(one.draw, one.reader.facts, one.world.users.name)
    for _ in range(2):
        clause = f"{TARGET}(A) :- {bodies.plain()}."
        head, body = oracle.parsed(clause)
        examples = _examples(database, database.examples_of(TARGET).as_given().keys)
        try:
            expected = [len(one.reader.groundings(head, body, each)) for each in examples]
        except oracle.TooManyError:
            continue
        for engine in ("memory", "duckdb"):
            counted = hb.count(database, clause, engine=engine)
            one.check(
                "counts", f"count, {engine}", clause, zip(examples, expected, counted.true, strict=True)
            )


# --- exported SQL ------------------------------------------------------------------------------


def _compare_sql(one: Tried, system: str, path: Path, expected: Expected, held: Systems) -> None:
    learned = hb.load_model(path)
    key = one.world.users.columns[0]
    asked = (ASKED, [key.name], None, "cutoff" if one.world.timed else None)
    try:
        query = learned.sql(system, examples=asked)
    except LimitError:
        one.compared["too large"] += 1
        return
    except HornbeamError as error:
        if system == "sqlite" and "SQLite" in str(error):
            one.compared["refused in SQLite"] += 1
            return
        raise
    rows = held.rows(system, query)
    where, effects = f"SQL of {system}, {path.stem}", len(expected.effects)
    if len(rows) != len(one.world.examples):
        one.fault(where, "number of rows", expected=len(one.world.examples), found=len(rows))
    for row in rows:
        example = oracle.Example(str(row[0]), _as_moment(row[1]) if one.world.timed else None)
        if example not in expected.predictions:
            one.fault(where, "a row of no example", found=str(row[:2]))
            return
        said = expected.predictions[example]
        number = len(said)
        one.check("rows of SQL", where, "prediction", _by_class(example, said, row[-number:]))
        # Before the scores and the predictions are the values of effects, each once; with classes, what each
        # effect adds to each class lies between.
        different = dict(expected.effects)
        if len(different) == effects:
            end = len(row) - 2 * number - (effects * number if number > 1 else 0)
            found = row[end - effects : end]
            for (text, values), cell in zip(expected.effects, found, strict=True):
                moment = _as_moment(cell) if isinstance(values[example], datetime) else cell
                one.check("values of SQL", where, text, [(example, values[example], moment)])


def _as_moment(cell: object) -> datetime | None:
    return datetime.fromisoformat(cell) if isinstance(cell, str) else cell  # type: ignore[return-value]


# --- all worlds --------------------------------------------------------------------------------


def unknown_kinds() -> list[str]:
    """Kinds of features and losses that the oracle does not compute."""
    return sorted({*kinds.KINDS} - {*oracle.KINDS}) + sorted({*SCALES} - {*oracle.SCALES})


def campaign(
    worlds: Iterable[int], seconds: float, say: Callable[[str], object]
) -> tuple[dict[str, Any], list[dict[str, object]]]:
    start, cpu, number, compared, faults = time.monotonic(), time.process_time(), 0, Counter[str](), []
    for each in worlds:
        if time.monotonic() - start > seconds:
            break
        one = tried(each)
        number += 1
        compared[f"worlds in {' and '.join(systems_of(each))}"] += 1
        compared += one.compared
        faults += one.faults
        for fault in one.faults:
            say(json.dumps(fault, ensure_ascii=False, default=str))
    found = {
        "worlds": number,
        "worlds_with_faults": len({each["world"] for each in faults}),
        "compared": dict(sorted(compared.items())),
        "cpu_seconds": round(time.process_time() - cpu),
    }
    return found, faults


def keep(first: int, found: dict[str, Any]) -> None:
    """Add a block of worlds to the record; one that begins with the same world is replaced."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    block = {"first": first, "commit": commit.stdout.strip(), **found}
    others = [each for each in recorded("campaign").get("blocks", []) if each["first"] != first]
    record("campaign", {"blocks": sorted([*others, block], key=lambda each: int(each["first"]))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first world")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if unknown := unknown_kinds():
        sys.exit(f"the oracle does not know {', '.join(unknown)}: add them to reliability/oracle.py")
    found, faults = campaign(range(options.first, options.first + options.worlds), options.seconds, print)
    print(json.dumps(found, indent=2))
    if options.record:
        keep(options.first, found)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
