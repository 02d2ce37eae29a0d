"""What the links of a plan tell about each row, as tables of measures: one for each link, by its keys.

The rows of a link are the facts that it reaches. What is asked of them is added up for each key in one
``GROUP BY``, from their own values and from what the links of these rows tell. Groundings are never listed:
numbers of different links multiply, and sums are multiplied by the numbers of the other links. Groundings at
the earliest or latest time, spreads, and different values behind a second link have queries of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from hornbeam.engines.export.levels import (
    Group,
    Measured,
    MeasuredRows,
    NumberParts,
    Terms,
    Wants,
    below,
    numbers_of,
)
from hornbeam.engines.export.measures import (
    APART,
    DISTINCT,
    NUMBER,
    SPREAD,
    VALUE,
    VALUES,
    N,
    Need,
    aggregated,
    edge_measures,
    edge_of,
    spread_center,
    spread_measures,
)
from hornbeam.engines.export.relations import ExportedTables, plain_word
from hornbeam.engines.export.rows import PlanRows, RowAtHand, named, with_joins
from hornbeam.engines.export.user_tables import FreeNames, NamedQuery, UserFacts
from hornbeam.engines.plan.parts import Facts, Input, New, RowPart, Value
from hornbeam.engines.sql.expressions import (
    Dialect,
    aliased,
    column,
    conjunction,
    integer,
    own_column,
    own_item,
    own_table,
)


class LinkQueries:
    """Writes the tables of measures."""

    def __init__(
        self, facts: UserFacts, relations: ExportedTables, names: FreeNames, dialect: Dialect
    ) -> None:
        self._facts = facts
        self._relations = relations
        self._names = names
        self._dialect = dialect
        self._counting = NumberParts()
        self._keys: dict[str, str] = {}
        self.named: list[NamedQuery | None] = []
        """expressions in the order in which they are read; None has a place that is filled later"""

    # --- what is asked -----------------------------------------------------------------------------

    def groups(self, wants: Wants) -> dict[Group, dict[tuple[RowPart, Need], None]]:
        """What parts ask of their links."""
        groups: dict[Group, dict[tuple[RowPart, Need], None]] = {}
        for part, need in wants:
            for link in part.links:
                asked = groups.setdefault((link.facts, link.carried), {})
                asked.update(dict.fromkeys((link.below, each) for each in below(part, link, need)))
            for facts in numbers_of(part):
                groups.setdefault((facts, ()), {})[self._counting.part(facts), N] = None
        return groups

    def is_plain(self, group: Group, wants: Iterable[tuple[RowPart, Need]]) -> bool:
        """Whether the keys are columns of the facts, so that all facts are grouped by them."""
        facts, carried = group
        return (
            not carried and not self._has_cutoff(facts, wants) and len(set(facts.known)) == len(facts.known)
        )

    def _has_cutoff(self, facts: Facts, wants: Iterable[tuple[RowPart, Need]]) -> bool:
        asked = {facts.predicate}.union(*(part.predicates for part, _ in wants))
        return bool(self._facts.timed() & asked)

    # --- tables ------------------------------------------------------------------------------------

    def measured(
        self, wants: Wants, rows: PlanRows, source: exp.Select, examples: str | None = None
    ) -> dict[Group, Measured]:
        """The tables for the links of rows, which ``source`` selects from.

        If the rows are examples, their table is named: links need no other keys.
        """
        return {
            group: self._write(group, asked, rows, source, examples)
            for group, asked in self.groups(wants).items()
        }

    def _write(
        self, group: Group, wants: Wants, parent: PlanRows, source: exp.Select, examples: str | None
    ) -> Measured:
        """Write the tables of a group of links."""
        facts, carried = group
        plain = self.is_plain(group, wants)
        keys = tuple(dict.fromkeys((*facts.known, *carried)))
        measured = Measured(keys, not plain and self._has_cutoff(facts, wants))
        inner = self.groups(wants)
        apart = {want: None for want in wants if self._is_apart(*want)}
        # Rows from which several queries start are an expression of their own.
        is_named = len(apart) + (len(apart) < len(wants)) > 1 or facts.last is not None
        is_named = is_named or any(not self.is_plain(each, asked) for each, asked in inner.items())
        words = self._words(facts)
        given = None if plain else self._key_table(measured, parent, source)
        rows = self._rows(facts, carried, measured, given)
        if plain and examples is not None and len(keys) == 1 and isinstance(keys[0], Input):
            rows.only = self._of_examples(facts, keys[0], examples)
        slot = len(self.named)
        if is_named:
            rows.name = self._names.take(f"{words}_reached")
            self.named.append(None)
            start = exp.Select().from_(own_table(rows.name, "r"), copy=False)
        else:
            start = exp.Select()
        level = self.level(rows, self.measured(wants, rows, start))
        columns = self._key_columns(facts, measured, rows)
        together = {want: None for want in wants if want not in apart}
        if together:
            self._write_together(level, together, columns, measured, self._names.take(words))
        for part, need in apart:
            self._write_apart(level, part, need, columns, measured, words)
        if is_named:
            self.named[slot] = NamedQuery(rows.name or "", self._reached(rows, facts, columns))
        return measured

    def _is_apart(self, part: RowPart, need: Need) -> bool:
        return need.kind in APART or (need.kind == DISTINCT and part.value is None)

    def _words(self, facts: Facts) -> str:
        """The name of a table of measures: whose rows, and by what."""
        table = self._facts.table(facts.predicate)
        own = table.label if self._relations.key_place(facts.predicate) is not None else facts.predicate
        by = [table.columns[at] for at, arg in enumerate(facts.args) if not isinstance(arg, New | str)]
        return plain_word(own) + (f"_by_{plain_word('_'.join(by))}" if by else "")

    def _key_table(self, measured: Measured, parent: PlanRows, source: exp.Select) -> str | None:
        """The table of the different keys that rows have; None if there is but one."""
        columns = {f"k{number}": parent.value(key) for number, key in enumerate(measured.keys)}
        if measured.cutoff:
            assert parent.cutoff is not None
            columns["cutoff"] = parent.out(parent.cutoff)
        if not columns:
            return None
        select = source.copy() if parent.name is not None else with_joins(source.copy(), parent.lookups)
        select = select.select(*named(columns)).distinct()
        text = self._dialect.text(select.copy())
        if text not in self._keys:
            self._keys[text] = self._names.take(f"keys_{len(self._keys) + 1}")
            self.named.append(NamedQuery(self._keys[text], select))
        return self._keys[text]

    def _rows(
        self, facts: Facts, carried: tuple[Value, ...], measured: Measured, given: str | None
    ) -> PlanRows:
        """The facts of a link, with the keys from which it comes."""
        places = {key: number for number, key in enumerate(measured.keys)}
        inputs = {number: own_column(f"k{places[key]}", "k") for number, key in enumerate(carried)}
        cutoff = own_column("cutoff", "k") if measured.cutoff else None
        relation = self._relations.of(facts.predicate)
        return PlanRows(
            *(self._facts, self._relations, self._dialect, inputs, cutoff),
            own=RowAtHand(relation, "f"),
            reached=facts,
            given=given,
        )

    def _of_examples(self, facts: Facts, key: Input, examples: str) -> exp.Expr:
        """The condition that a fact is about an example."""
        (at,) = [at for at, arg in enumerate(facts.args) if arg == key]
        asked = exp.select(own_column(f"k{key.place}", "k")).from_(own_table(examples, "k"))
        return exp.In(this=self._argument(facts, at), query=asked.subquery())

    def _key_columns(self, facts: Facts, measured: Measured, rows: PlanRows) -> dict[str, exp.Expr]:
        """The keys of the rows, under the names that they have in tables of measures."""
        columns: dict[str, exp.Expr] = {}
        for number, key in enumerate(measured.keys):
            at = next((at for at, arg in enumerate(facts.args) if arg == key), None)
            columns[f"k{number}"] = (
                rows.out(self._argument(facts, at))
                if at is not None
                else rows.out(own_column(f"k{number}", "k"))
            )
        if measured.cutoff:
            columns["cutoff"] = rows.out(own_column("cutoff", "k"))
        return columns

    def _argument(self, facts: Facts, at: int) -> exp.Column:
        relation, table = self._relations.of(facts.predicate), self._facts.table(facts.predicate)
        return relation.value(table, at, self._facts.schema.types_of(facts.predicate)[at], "f")

    def _from(self, rows: PlanRows, facts: Facts) -> exp.Select:
        """The facts that match, joined with the keys from which they are reached."""
        conditions = list(rows.matching())
        relation = self._relations.of(facts.predicate)
        item = aliased(own_item(relation.name), "f")
        if rows.given is None:
            select = exp.Select().from_(item, copy=False)
            return with_joins(select, rows.lookups).where(*conditions, copy=False)
        places = {key: number for number, key in enumerate(dict.fromkeys(facts.known))}
        on: list[exp.Expr] = []
        for at, arg in enumerate(facts.args):
            if not isinstance(arg, New | str):
                key = own_column(f"k{places[arg]}", "k")
                on.append(exp.EQ(this=self._argument(facts, at), expression=key))
        select = exp.Select().from_(own_table(rows.given, "k"), copy=False)
        on += conditions
        select.append("joins", exp.Join(this=item, kind="INNER", on=conjunction(on) if on else exp.true()))
        return with_joins(select, rows.lookups)

    def _reached(self, rows: PlanRows, facts: Facts, keys: Mapping[str, exp.Expr]) -> exp.Select:
        """The rows of a link as an expression of their own; of the last facts of a key, only these."""
        columns: dict[str, exp.Expr] = {}
        select = self._from(rows, facts)
        inner = {outer.name: inner for outer, inner in self._inner(rows)}
        columns.update(inner)
        if facts.last is not None:
            by = [inner[key.name].copy() for key in keys.values() if isinstance(key, exp.Column)]
            rows.inside = True
            latest = exp.Ordered(this=rows.time(facts), desc=True, nulls_first=True)
            rows.inside = False
            order = exp.Order(expressions=[latest])
            rank = exp.Window(this=exp.Anonymous(this="RANK"), partition_by=by, order=order)
            place = _free("place", {name.lower(): value for name, value in columns.items()})
            columns[place] = rank
        names = [exp.alias_(value, name, quoted=True) for name, value in columns.items()]
        select = select.select(*names, copy=False)
        if facts.last is None:
            return select
        few = exp.LTE(this=column(place, "r"), expression=integer(facts.last))
        return exp.select("*").from_(select.subquery("r")).where(few)

    def _inner(self, rows: PlanRows) -> Iterator[tuple[exp.Column, exp.Expr]]:
        for name, value in rows.columns.values():
            yield exp.column(name), value.copy()

    # --- measures ----------------------------------------------------------------------------------

    def level(self, rows: PlanRows, measured: Mapping[Group, Measured]) -> MeasuredRows:
        """Rows, and what is known of their links."""
        return MeasuredRows(rows, measured, self._counting, self._dialect)

    def start(self, level: MeasuredRows, facts: Facts) -> exp.Select:
        """The rows of a level, joined with what their links tell."""
        rows = level.rows
        if rows.name is not None:
            select = exp.Select().from_(own_table(rows.name, "r"), copy=False)
        else:
            select = self._from(rows, facts)
        return with_joins(select, level.joined)

    def _write_together(
        self,
        level: MeasuredRows,
        wants: Wants,
        keys: Mapping[str, exp.Expr],
        measured: Measured,
        name: str,
    ) -> None:
        """Write all measures that one ``GROUP BY`` gives."""
        terms = {want: level.terms(*want) for want in wants}
        shared = self._shared(list(terms.values()))
        columns: dict[str, exp.Expr] = dict(keys)
        known: dict[str, str] = {}
        for want, (conditions, values) in terms.items():
            rest = [each for each in conditions if self._dialect.text(each.copy()) not in shared]
            places: dict[str, str] = {}
            if want[1].kind == DISTINCT:
                values = {DISTINCT: values[VALUE]}
            for word, value in values.items():
                made = aggregated(word, value, rest)
                sql = self._dialect.text(made.copy())
                if sql not in known:
                    known[sql] = _free(word, columns)
                    columns[known[sql]] = made
                places[word] = known[sql]
            measured.columns[want] = name, places
        assert level.rows.reached is not None
        select = self.start(level, level.rows.reached)
        select = select.select(*named(columns), copy=False)
        if shared:
            select = select.where(*shared.values(), copy=False)
        if keys:
            select = select.group_by(*(key.copy() for key in keys.values()), copy=False)
        self.named.append(NamedQuery(name, select))

    def _shared(self, terms: Sequence[Terms]) -> dict[str, exp.Expr]:
        """The conditions of all measures."""
        by_text = [{self._dialect.text(each.copy()): each for each in own.conditions} for own in terms]
        return {text: each for text, each in by_text[0].items() if all(text in own for own in by_text)}

    def _write_apart(
        self,
        level: MeasuredRows,
        part: RowPart,
        need: Need,
        keys: Mapping[str, exp.Expr],
        measured: Measured,
        words: str,
    ) -> None:
        """Write a measure that needs a query of its own."""
        conditions, values = level.terms(part, need)
        assert level.rows.reached is not None
        rows = self.start(level, level.rows.reached).where(*conditions, copy=False)
        name = self._names.take(f"{words}_{need.kind}")
        outer = {key: own_column(key, "t") for key in keys}
        if need.kind == VALUES:
            number = aggregated(NUMBER, values[NUMBER], ())
            select = rows.select(*named({**keys, VALUE: values[VALUE], NUMBER: number}), copy=False)
            by = [*(key.copy() for key in keys.values()), values[VALUE].copy()]
            select = select.group_by(*by, copy=False)
            columns = {VALUE: VALUE, NUMBER: NUMBER}
        elif need.kind == DISTINCT:
            counted = exp.Count(this=exp.Distinct(expressions=[values[VALUE]]))
            select = rows.select(*named({**keys, DISTINCT: counted}), copy=False)
            select = select.group_by(*(key.copy() for key in keys.values()), copy=False) if keys else select
            columns = {DISTINCT: DISTINCT}
        else:
            by = [key.copy() for key in keys.values()]
            edge = spread_center(values, by) if need.kind == SPREAD else edge_of(need.kind, values, by)
            inner = rows.select(*named({**keys, **values, "edge": edge}), copy=False)
            select = exp.Select().from_(inner.subquery("t"), copy=False)
            made = spread_measures() if need.kind == SPREAD else edge_measures(need.kind, values)
            select = select.select(*named({**outer, **made}), copy=False)
            if need.kind != SPREAD:
                same = exp.EQ(this=own_column("time", "t"), expression=own_column("edge", "t"))
                select = select.where(same, copy=False)
            select = select.group_by(*outer.values(), copy=False) if outer else select
            columns = {word: word for word in made}
        self.named.append(NamedQuery(name, select))
        measured.columns[part, need] = name, columns


def _free(word: str, taken: Mapping[str, object]) -> str:
    name, number = word, 1
    while name in taken:
        number += 1
        name = f"{word}_{number}"
    return name
