"""What a model says of tables, by ``docs/effects.md``: plain Python over rows, without a line of the package.

``Facts`` are made of tables as they are described, ``value`` is the feature of a body for an example, and
``prediction`` is what a model file gives. Nothing here is quick.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

NEVER, ALWAYS = datetime.max, datetime.min
"""The time of a row without one in a table that has times, and the time where there are no times."""
MOST_GROUNDINGS = 20_000
DAY = timedelta(days=1)


class TooManyError(Exception):
    """A body has more groundings than this module is asked to list."""


class Column(NamedTuple):
    """A column, its role (number, category, flag, date, time, key, link), and where a link leads."""

    name: str
    role: str
    other: str = ""


class Table(NamedTuple):
    """Rows as tuples. A table of things has a key; a link table has none."""

    name: str
    columns: list[Column]
    rows: list[tuple[Any, ...]]

    def place(self, role: str) -> int | None:
        return next((n for n, column in enumerate(self.columns) if column.role == role), None)


class Fact(NamedTuple):
    args: tuple[Any, ...]
    time: datetime


class Facts(NamedTuple):
    """The facts of each predicate, the types of its arguments, and which predicates have times."""

    of: dict[str, list[Fact]]
    types: dict[str, tuple[str, ...]]
    timed: set[str]


def facts_of(tables: Sequence[Table], cut: bool) -> Facts:
    """Links to keys that no table has are left out: the link of a thing, or the whole row of a link table.

    If no table has times and examples have no cut-offs, dates are values and nothing more.
    """
    found = Facts({}, {}, set())
    dated = cut or any(table.place("time") is not None for table in tables)
    keys = {
        table.name: {str(row[place]) for row in table.rows}
        for table in tables
        if (place := table.place("key")) is not None
    }
    for table in tables:
        _add_table(found, table, keys, dated)
    return found


def _add_table(found: Facts, table: Table, keys: Mapping[str, set[str]], dated: bool) -> None:
    key, time = table.place("key"), table.place("time")
    firsts = [key] if key is not None else [n for n, each in enumerate(table.columns) if each.role == "link"]
    types = tuple(table.name if n == key else table.columns[n].other for n in firsts)
    rows = []
    for row in table.rows:
        first = tuple(row[n] for n in firsts)
        if all(each is not None and str(each) in keys[name] for each, name in zip(first, types, strict=True)):
            moment = ALWAYS if time is None else row[time] or NEVER
            rows.append((tuple(map(str, first)), moment, row))
    if key is None:
        _declare(found, table.name, types, time is not None)
        found.of[table.name] = [Fact(first, moment) for first, moment, _ in rows]
    for place, (name, role, other) in enumerate(table.columns):
        if place in firsts or role == "time":
            continue
        last = {"flag": (), "link": (other,)}.get(role, (f"{name}:{role}",))
        _declare(found, name, types + last, time is not None or (dated and role == "date"))
        for first, moment, row in rows:
            cell = row[place]
            if cell is None or cell is False or (role == "link" and str(cell) not in keys[other]):
                continue
            args = {"flag": (), "number": (float(cell) if role == "number" else 0,), "date": (cell,)}
            known = max(moment, cell) if dated and role == "date" else moment
            found.of[name].append(Fact(first + args.get(role, (str(cell),)), known))


def _declare(found: Facts, predicate: str, types: tuple[str, ...], timed: bool) -> None:
    assert predicate not in found.of, predicate
    found.of[predicate], found.types[predicate] = [], types
    if timed:
        found.timed.add(predicate)


# --- bodies ------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(:-|>=|[(),=<])|((?:[^\s(),=<>:'".]|\.(?=\S))+)|(\.)\s*$)"""
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class Word(NamedTuple):
    text: str
    variable: bool = False
    quoted: bool = False


def word(text: str, quoted: bool = False) -> Word:
    return Word(text, not quoted and (text[:1].isupper() or text[:1] == "_"), quoted)


class Step(NamedTuple):
    """One step of a body: an atom (recent, negated, or its number), or a comparison of a variable."""

    kind: str
    predicate: str = ""
    args: tuple[Word, ...] = ()
    variable: str = ""
    value: str = ""
    last: int | None = None
    within: float | None = None


@cache
def parsed(clause: str) -> tuple[tuple[str, ...], list[Step]]:
    """The variables of the head, and the steps of the body."""
    words, position = [], 0
    while position < len(clause.rstrip()):
        match = _TOKEN.match(clause, position)
        assert match is not None, clause[position:]
        single, double, mark, plain, stop = match.groups()
        quoted = single if single is not None else double
        if quoted is not None:
            words.append(word(re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), quoted), True))
        elif stop is None:
            words.append(word(mark or plain))
        position = match.end()
    _, head, rest = _atom(words)
    assert rest[0].text == ":-"
    rest, steps = rest[1:], []
    while rest and rest != [word("true")]:
        step, rest = _step(rest)
        steps.append(step)
        rest = rest[1:]
    return tuple(each.text for each in head), steps


def _atom(words: list[Word]) -> tuple[str, tuple[Word, ...], list[Word]]:
    assert words[1] == word("("), words[:3]
    end = words.index(word(")"))
    return words[0].text.lower(), tuple(words[2:end:2]), words[end + 1 :]


def _step(words: list[Word]) -> tuple[Step, list[Word]]:
    first, second = words[0], words[1]
    if first.variable and second.text in (">=", "<"):
        return Step(second.text, variable=first.text, value=words[2].text), words[3:]
    if first.variable and second.text == "=":
        if [each.text for each in words[2:4]] == ["number", "of"]:
            predicate, args, rest = _atom(words[4:])
            return Step("number", predicate, args, first.text), rest
        return Step("=", variable=first.text, value=words[2].text), words[3:]
    kind, last, within = "atom", None, None
    while words[1] != word("("):
        if words[0].text == "not":
            kind, words = "not", words[1:]
        elif words[0].text == "last":
            last, words = int(words[1].text), words[2:]
        else:
            assert words[0].text == "within", words[0]
            within, words = float(words[1].text), words[2:]
    predicate, args, rest = _atom(words)
    return Step(kind, predicate, args, last=last, within=within), rest


# --- groundings --------------------------------------------------------------------------------


class Example(NamedTuple):
    key: str
    cutoff: datetime | None


Value = float | datetime | None


class Grounding(NamedTuple):
    bound: dict[str, Any]
    time: datetime = ALWAYS


class Reader(NamedTuple):
    """The facts, and whether those at the time of a cut-off exist."""

    facts: Facts
    include: bool
    known: dict[tuple[str, str, Example], Value]
    """the values that were computed so far"""

    def groundings(self, head: tuple[str, ...], body: Sequence[Step], example: Example) -> list[Grounding]:
        found = [Grounding({head[0]: example.key})]
        for step in body:
            found = [after for each in found for after in self._after(step, each, example)]
            if len(found) > MOST_GROUNDINGS:
                raise TooManyError
        return found

    def exists(self, fact: Fact, predicate: str, cutoff: datetime | None) -> bool:
        if predicate not in self.facts.timed or cutoff is None:
            return True
        return fact.time < cutoff or (self.include and fact.time == cutoff)

    def matching(
        self, step: Step, bound: Mapping[str, Any], example: Example
    ) -> list[tuple[Fact, dict[str, Any]]]:
        found = []
        for fact in self.facts.of[step.predicate]:
            if not self.exists(fact, step.predicate, example.cutoff):
                continue
            now = dict(bound)
            for word, arg in zip(step.args, fact.args, strict=True):
                if not (now.setdefault(word.text, arg) == arg if word.variable else same(arg, word.text)):
                    break
            else:
                found.append((fact, now))
        if step.predicate in self.facts.timed:
            every = [fact.time for fact, _ in found]
            if step.last is not None:
                found = [one for one in found if sum(each > one[0].time for each in every) < step.last]
            if step.within is not None and example.cutoff is not None:
                least = example.cutoff - step.within * DAY
                found = [one for one in found if one[0].time >= least]
        return found

    def _after(self, step: Step, before: Grounding, example: Example) -> list[Grounding]:
        bound = before.bound
        if step.kind in (">=", "<"):
            value = bound[step.variable]
            cut = read(step.value, value)
            return [before] if (value >= cut if step.kind == ">=" else value < cut) else []
        if step.kind == "=":
            return [before] if same(bound[step.variable], step.value) else []
        found = self.matching(step, bound, example)
        if step.kind == "not":
            return [] if found else [before]
        if step.kind == "number":
            return [Grounding(bound | {step.variable: float(len(found))}, before.time)]
        timed = step.predicate in self.facts.timed
        return [Grounding(now, fact.time if timed else before.time) for fact, now in found]


def read(text: str, like: object) -> Any:
    """A constant as the kind of a value: a date, a number, or a name."""
    if isinstance(like, datetime):
        return datetime.fromisoformat(text)
    return float(text) if isinstance(like, float) else text


def same(value: object, text: str) -> bool:
    return bool(value == read(text, value))


# --- features ----------------------------------------------------------------------------------


class Asked(NamedTuple):
    """What a feature is computed of."""

    groundings: list[Grounding]
    shorter: Callable[[], list[Grounding]]
    variable: str
    cutoff: datetime | None

    @property
    def values(self) -> list[Any]:
        return [each.bound[self.variable] for each in self.groundings]

    def at(self, edge: Callable[..., datetime]) -> Asked:
        """The same of the groundings with the earliest or the latest time."""
        times = [each.time for each in self.groundings]
        return self._replace(groundings=[each for each in self.groundings if each.time == edge(times)])

    def since(self, times: list[datetime], edge: Callable[..., datetime]) -> Value:
        if self.cutoff is None or not times or edge(times) in (NEVER, ALWAYS):
            return None
        return (self.cutoff - edge(times)) / DAY


EPOCH = datetime(1970, 1, 1)


def mean(values: list[Any]) -> Value:
    if values and isinstance(values[0], datetime):
        return EPOCH + sum((each - EPOCH for each in values), timedelta()) / len(values)
    return math.fsum(values) / len(values) if values else None


def _spread(values: list[float]) -> Value:
    middle = mean(values)
    return (
        None
        if middle is None
        else math.sqrt(math.fsum((each - middle) ** 2 for each in values) / len(values))
    )


def _share(asked: Asked) -> Value:
    whole = len(asked.shorter())
    return len(asked.groundings) / whole if whole else None


KINDS: Mapping[str, Callable[[Asked], Value]] = {
    "count": lambda asked: float(len(asked.groundings)),
    "share": _share,
    "distinct": lambda asked: float(len(set(asked.values))),
    "value": lambda asked: mean(asked.values),
    "mean": lambda asked: mean(asked.values),
    "sum": lambda asked: math.fsum(asked.values) if asked.values else None,
    "min": lambda asked: min(asked.values, default=None),
    "max": lambda asked: max(asked.values, default=None),
    "spread": lambda asked: _spread(asked.values),
    "first": lambda asked: mean(asked.at(min).values) if asked.groundings else None,
    "last": lambda asked: mean(asked.at(max).values) if asked.groundings else None,
    "since": lambda asked: asked.since(asked.values, min),
    "since first": lambda asked: asked.since([each.time for each in asked.groundings], min),
    "since last": lambda asked: asked.since([each.time for each in asked.groundings], max),
    "month": lambda asked: None if asked.cutoff is None else float(asked.cutoff.month),
}
"""How each kind of feature is computed; a kind that is not here fails the campaign."""


def value(reader: Reader, feature: str, clause: str, example: Example) -> Value:
    """The value of a feature, which is kept: it is asked for several times."""
    key = (feature, clause, example)
    if key not in reader.known:
        reader.known[key] = _value(reader, feature, clause, example)
    return reader.known[key]


def _value(reader: Reader, feature: str, clause: str, example: Example) -> Value:
    head, body = parsed(clause)
    kind, variable = (feature, "") if feature in KINDS else feature.rsplit(" ", 1)
    found = [] if kind == "month" else reader.groundings(head, body, example)
    return KINDS[kind](
        Asked(found, lambda: reader.groundings(head, body[:-1], example), variable, example.cutoff)
    )


# --- models ------------------------------------------------------------------------------------


def level(effect: Mapping[str, Any], found: Value) -> float:
    if found is None:
        return float(effect["missing"])
    cuts = [read(str(cut), found) for cut in effect["cuts"]]
    return float(effect["levels"][sum(found >= cut for cut in cuts)])


def score(reader: Reader, model: Mapping[str, Any], example: Example) -> float:
    """The prior, what each constant adds, and what each effect adds."""
    total = [float(model["prior"])]
    for weighted in model["clauses"]:
        head, body = parsed(weighted["clause"])
        found = reader.groundings(head, body, example)
        each = "ABCDEFGH"[weighted["each"]]
        for name, weight in weighted["constants"].items():
            count = sum(same(one.bound[each], name) for one in found)
            total.append(weight * _of_count(weighted.get("feature", "count"), count))
    total += [
        level(each, value(reader, each["feature"], each["clause"], example)) for each in model["effects"]
    ]
    return math.fsum(total)


def _of_count(feature: str, count: int) -> float:
    if feature.startswith("at least "):
        return float(count >= int(feature.split()[-1]))
    return {"count": float, "log": math.log1p}[feature](count)


def _chance(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


SCALES: Mapping[str, Callable[[float], float]] = {
    "logistic": _chance,
    "squared": float,
    "absolute": float,
    "huber": float,
    "poisson": math.exp,
    "choice": math.exp,
    "softmax": math.exp,
}
"""What a score stands for by each loss; that of a choice is then divided by the sum of its choice, that of a
class by the sum of all classes."""


def of_class(model: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The part of a model of classes for one of them."""
    effects = [
        {**each, "levels": each["levels"][place], "missing": each["missing"][place]}
        for each in model["effects"]
    ]
    clauses = [
        {**each, "constants": {name: own[place] for name, own in each["constants"].items()}}
        for each in model.get("clauses", [])
    ]
    return {"prior": model["priors"][place], "clauses": clauses, "effects": effects}


def predictions(
    reader: Reader, model: Mapping[str, Any], examples: Sequence[Example], choices: Sequence[object]
) -> list[tuple[float, ...]]:
    """What a model says of each example: one number, or one for each class."""
    if "priors" in model:
        rows = []
        for example in examples:
            each = [math.exp(score(reader, of_class(model, k), example)) for k in range(len(model["priors"]))]
            rows.append(tuple(part / sum(each) for part in each))
        return rows
    loss = model.get("loss", "logistic")
    single = [SCALES[loss](score(reader, model, each)) for each in examples]
    if loss == "choice":
        sums: dict[object, float] = {}
        for choice, part in zip(choices, single, strict=True):
            sums[choice] = sums.get(choice, 0.0) + part
        single = [part / sums[choice] for choice, part in zip(choices, single, strict=True)]
    return [(each,) for each in single]
