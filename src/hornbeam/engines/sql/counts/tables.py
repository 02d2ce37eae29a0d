"""Counts stay in tables of the SQL system, which sums them and multiplies them with gradients.

Small tables of counts are fetched instead and summed here: to plan a query of hundreds of sums takes a
database longer than to compute them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from hornbeam.engines.contract import INT64_MAX, Counts
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.counts.fetched import (
    Integers,
    exact_products,
    exact_squares,
    fetched_columns,
    fetched_rows,
)
from hornbeam.engines.sql.examples import Head, SqlExamples
from hornbeam.engines.sql.expressions import own_column, own_table, product
from hornbeam.engines.sql.messages import CELL
from hornbeam.engines.sql.sizes import WIDE_MAX
from hornbeam.logic.clauses import Clause

MOST_FETCHED = 2**25
"""Bytes of the counts that a session keeps in this process, at most; an eighth of it from one query."""
LEAST_GRADIENT = 2**30
"""Queries allow for gradients up to at least this size, so that their text can be used again."""


@dataclass(slots=True, eq=False)
class _CountTable:
    """A table with the counts of several clauses over the same head variables.

    Its columns ``t0 t1 ...`` are the counts of clauses; or, if ``by_row``, ``t0`` is the count of the clause
    that the column ``member`` tells, and a missing row is the count 0.
    """

    name: str
    head: Head
    size: int
    members: list[CountedClause]
    by_row: bool = False
    query: str = ""
    """the query of the sums of products with the gradients; empty before it is first written"""
    gradient_limit: int = 0
    """the largest gradient that the query's integer types hold"""
    counts: Integers | None = None
    """the counts if they were fetched, a row for each column or number of a member; then no table exists"""


@dataclass(slots=True, eq=False)
class CountedClause:
    """A counted clause: its sums, and the table column with its counts."""

    clause: Clause
    total: int
    largest: int
    """the largest of its counts if ``measured``, else an upper bound of them"""
    measured: bool = False
    true: int | None = None
    true_squared: int = 0
    true_gradient: int = 0
    round: int = -1
    """which gradients ``true_gradient`` was computed with: how many times they had been set"""
    table: _CountTable | None = None
    """None once the table was dropped"""
    column: int = 0
    """the number of its column, or its number in the rows"""


class CountTables:
    """Tables of counts, or of their logarithms, under a budget; the least recently used is dropped first."""

    def __init__(self, connection: Connection, examples: SqlExamples, memory: int) -> None:
        self._connection = connection
        self._examples = examples
        self._memory = memory
        self._tables: OrderedDict[str, _CountTable] = OrderedDict()
        self._bytes = 0
        self._fetched_bytes = 0

    def add(self, head: Head, members: Sequence[CountedClause], query: exp.Select) -> None:
        """Make a table of a query whose columns ``t0 t1 ...`` are the counts of the members."""
        numbers = {counted: number for number, counted in enumerate(members)}
        bindings = len(self._examples.bindings(head))
        if self._is_small(bindings * len(members)):
            rows = fetched_columns(self._connection, query, bindings)
            self._keep(_CountTable(self._connection.new_name(), head, rows.nbytes, [*members], counts=rows))
        else:
            name = self._connection.new_name()
            self._connection.create(name, query)
            self._keep(_CountTable(name, head, CELL * bindings * (2 + len(members)), [*members]))
        self._place(numbers)

    def add_rows(self, head: Head, numbers: Mapping[CountedClause, int], query: exp.Select) -> None:
        """Make a table of a query whose rows are counts ``t0`` of the members with the number ``member``."""
        name = self._connection.new_name()
        size = (max(numbers.values(), default=-1) + 1, len(self._examples.bindings(head)))
        if self._is_small(size[0] * size[1]):
            counts = fetched_rows(self._connection, query, size)
            self._keep(_CountTable(name, head, counts.nbytes, [*numbers], counts=counts))
        else:
            self._connection.create(name, query)
            ((rows,),) = self._connection.rows(f"SELECT COUNT(*) FROM {name}")
            self._keep(_CountTable(name, head, CELL * 4 * int(rows), [*numbers], by_row=True))
        self._place(numbers)

    def _is_small(self, cells: int) -> bool:
        """Whether this many counts are fetched; the database does not know of the memory that they take."""
        room = min(self._memory // 4, MOST_FETCHED) - self._fetched_bytes
        return CELL * cells <= min(room, MOST_FETCHED // 8)

    def _keep(self, table: _CountTable) -> None:
        self._tables[table.name] = table
        self._bytes += table.size
        if table.counts is not None:
            self._fetched_bytes += table.size

    def _place(self, numbers: Mapping[CountedClause, int]) -> None:
        """Record where the counts of members are: in the newest table."""
        table = next(reversed(self._tables.values()))
        for counted, number in numbers.items():
            counted.table, counted.column = table, number

    def trim(self) -> None:
        """Drop tables beyond the budget; their members are counted again when they are needed."""
        while self._bytes > self._memory and self._tables:
            name, table = self._tables.popitem(last=False)
            self._bytes -= table.size
            if table.counts is None:
                self._connection.drop(name)
            else:
                self._fetched_bytes -= table.size
            for counted in table.members:
                if counted.table is table:
                    counted.table = None

    def fetch(self, members: Sequence[CountedClause]) -> dict[Clause, Counts]:
        """The counts of clauses, one query for each table that holds some of them."""
        by_table: dict[str, list[CountedClause]] = {}
        for counted in members:
            if counted.table is not None:
                by_table.setdefault(counted.table.name, []).append(counted)
        fetched: dict[Clause, Counts] = {}
        for name, in_table in by_table.items():
            rows = self._tables[name].counts
            if rows is not None:
                of_example = self._examples.bindings(self._tables[name].head).of_example
                for counted in in_table:
                    fetched[counted.clause] = Counts(rows[counted.column][of_example], counted.total)
                continue
            if self._tables[name].by_row:
                fetched |= self._fetch_rows(self._tables[name], in_table)
                continue
            columns = [self._connection.dialect.cast(_counts(counted)) for counted in in_table]
            query = exp.Select().from_(own_table(name, "t"), copy=False)
            query = query.select(own_column("example", "t"), *columns, copy=False)
            text = self._connection.dialect.text(query)
            example, *counts = self._connection.integers(text, 1 + len(in_table))
            keys = self._examples.bindings(self._tables[name].head)
            for counted, column in zip(in_table, counts, strict=True):
                fetched[counted.clause] = Counts(keys.spread(example, column), counted.total)
        return fetched

    def _fetch_rows(self, table: _CountTable, members: Sequence[CountedClause]) -> dict[Clause, Counts]:
        wanted = sorted({counted.column for counted in members})
        member = own_column("member", "t")
        query = exp.Select().from_(own_table(table.name, "t"), copy=False)
        query = query.where(
            exp.In(this=member, expressions=[exp.Literal.number(n) for n in wanted]), copy=False
        )
        cast = self._connection.dialect.cast
        columns = [
            cast(column) for column in (own_column("example", "t"), member.copy(), own_column("t0", "t"))
        ]
        text = self._connection.dialect.text(query.select(*columns, copy=False))
        example, number, count = self._connection.integers(text, 3)
        keys = self._examples.bindings(table.head)
        fetched = {}
        for counted in members:
            own = number == counted.column
            fetched[counted.clause] = Counts(keys.spread(example[own], count[own]), counted.total)
        return fetched

    def close(self) -> None:
        self._connection.drop_all([name for name, table in self._tables.items() if table.counts is None])
        self._tables.clear()
        self._bytes = self._fetched_bytes = 0

    # --- sums ------------------------------------------------------------------------------------

    def update(self, members: Sequence[CountedClause]) -> None:
        """Compute the sums of clauses for the current gradients, except clauses whose table was dropped."""
        for counted in members:
            table = counted.table
            if table is None or counted.round == self._examples.round:
                continue
            self._tables.move_to_end(table.name)
            new = [member for member in table.members if member.true is None]
            if table.counts is not None:
                self._sum_fetched(table, table.counts, new)
            elif new:
                self._sum(table, new)
            else:
                self._set_products(table, self._results(table, self._gradient_query(table), 1))

    def _sum_fetched(self, table: _CountTable, counts: Integers, new: list[CountedClause]) -> None:
        """The sums of fetched counts; those of new members do not depend on the gradients."""
        keys = self._examples.bindings(table.head)
        products = exact_products(counts, self._examples.gradient_sums(table.head))
        self._set_products(table, [products[counted.column] for counted in table.members])
        if new:
            rows = counts[[counted.column for counted in new]]
            sums, squares = exact_products(rows, keys.weights), exact_squares(rows, keys.weights)
            for counted, true, squared in zip(new, sums, squares, strict=True):
                counted.true, counted.true_squared = true, squared

    def _results(self, table: _CountTable, query: str, number: int) -> list[int]:
        """The results of a query of sums: ``number`` for each member."""
        if not table.by_row:
            return _one_row(self._connection, query)
        sums = {int(row[0]): [int(value or 0) for value in row[1:]] for row in self._connection.rows(query)}
        nothing = [0] * number
        return [value for counted in table.members for value in sums.get(counted.column, nothing)]

    def _sum(self, table: _CountTable, new: list[CountedClause]) -> None:
        """All sums of a new table, in one query."""
        number, keys = len(self._examples), self._examples.with_gradients(table.head)
        # Bounds from degrees may be far too high; summing in wide integers costs more than measuring.
        self._measure(table, [counted for counted in new if counted.largest**2 * number > INT64_MAX])
        if table.by_row:
            most = max(counted.largest for counted in table.members)
            sums = [*self._sums_of(new[0], most), *self._products(table, keys.largest_gradient)]
            results = self._results(table, self._sums_text(table, sums), 3)
            self._set_products(table, results[2::3])
            found = dict(zip(table.members, zip(results[::3], results[1::3], strict=False), strict=True))
            pairs = [found[counted] for counted in new]
        else:
            sums = [each for counted in new for each in self._sums_of(counted, counted.largest)]
            sums += self._products(table, keys.largest_gradient)
            results = self._results(table, self._sums_text(table, sums), 1)
            self._set_products(table, results[2 * len(new) :])
            pairs = list(zip(results[: 2 * len(new) : 2], results[1 : 2 * len(new) : 2], strict=True))
        for counted, (true, squared) in zip(new, pairs, strict=True):
            counted.true, counted.true_squared = true, squared
            if counted.largest**2 * number > WIDE_MAX:
                column = self.fetch([counted])[counted.clause].true
                counted.true_squared = sum(count * count for count in column.tolist())

    def _sums_of(self, counted: CountedClause, most: int) -> Iterator[exp.Expr]:
        """The sums of counts up to ``most`` and of their squares; 0 if squares are too large to be summed."""
        assert counted.table is not None
        keys = self._examples.bindings(counted.table.head)
        count, weight = _counts(counted), own_column("weight", "t")
        yield self._summed([count, weight], most * keys.heaviest, len(keys))
        squares: list[exp.Expr] = [count.copy(), count.copy(), weight.copy()]
        if most**2 * len(self._examples) > WIDE_MAX:
            squares = [exp.Literal.number(0)]
        yield self._summed(squares, most**2 * keys.heaviest, len(keys))

    def _set_products(self, table: _CountTable, products: Sequence[int]) -> None:
        for counted, product_sum in zip(table.members, products, strict=True):
            counted.true_gradient, counted.round = product_sum, self._examples.round

    def _measure(self, table: _CountTable, members: Sequence[CountedClause]) -> None:
        """Replace the upper bounds of counts by the largest counts."""
        unknown = [counted for counted in members if not counted.measured]
        if unknown and table.by_row:
            maximum = exp.Max(this=own_column("t0", "t"))
            measured = dict(self._connection.rows(self._sums_text(table, [maximum])))
            for counted in unknown:
                counted.largest, counted.measured = int(measured.get(counted.column, 0)), True
        elif unknown:
            item = own_table(table.name, "t")
            largest = largest_counts(self._connection, item, [counted.column for counted in unknown])
            for counted, most in zip(unknown, largest, strict=True):
                counted.largest, counted.measured = most, True

    def _gradient_query(self, table: _CountTable) -> str:
        """The query of the sums of products with the gradients, written again only for larger gradients."""
        keys = self._examples.with_gradients(table.head)
        if not table.query or keys.largest_gradient > table.gradient_limit:
            table.gradient_limit = max(keys.largest_gradient, LEAST_GRADIENT * keys.heaviest)
            table.query = self._sums_text(table, self._products(table, table.gradient_limit))
        return table.query

    def _products(self, table: _CountTable, gradient: int) -> list[exp.Expr]:
        """For each member the sum of products with gradients whose absolute value is at most ``gradient``."""
        rows = len(self._examples.bindings(table.head))
        if table.by_row:
            most = max(counted.largest for counted in table.members)
            factors: list[exp.Expr] = [own_column("t0", "t"), own_column("gradient", "d")]
            return [self._summed(factors, most * gradient, rows)]
        return [
            self._summed([_counts(counted), own_column("gradient", "d")], counted.largest * gradient, rows)
            for counted in table.members
        ]

    def _summed(self, factors: list[exp.Expr], largest: int, rows: int) -> exp.Expr:
        """The sum over ``rows`` rows of a product up to ``largest``, in an integer type that holds it."""
        dialect = self._connection.dialect
        if largest > INT64_MAX or (largest * rows > INT64_MAX and not dialect.sum_widens):
            factors = [dialect.cast(factors[0], wide=True), *factors[1:]]
        return exp.Sum(this=product(factors))

    def _sums_text(self, table: _CountTable, sums: Sequence[exp.Expr]) -> str:
        same = exp.EQ(this=own_column("example", "t"), expression=own_column("example", "d"))
        gradients = own_table(self._examples.bindings(table.head).gradient_table, "d")
        query = exp.Select().from_(own_table(table.name, "t"), copy=False)
        query = query.join(gradients, on=same, join_type="INNER", copy=False)
        if table.by_row:
            member = own_column("member", "t")
            query = query.select(member, copy=False).group_by(member.copy(), copy=False)
        return self._connection.dialect.text(query.select(*sums, copy=False))


def largest_counts(connection: Connection, item: exp.Expr, columns: Sequence[int]) -> list[int]:
    """The largest count in each of the given columns of a table or subquery ``t``."""
    query = exp.Select().from_(item, copy=False)
    greatest = (exp.Max(this=own_column(f"t{column}", "t")) for column in columns)
    return _one_row(connection, connection.dialect.text(query.select(*greatest, copy=False)))


def _one_row(connection: Connection, query: str) -> list[int]:
    """The numbers in the only row of a query."""
    (row,) = connection.rows(query)
    return [int(value or 0) for value in row]


def _counts(counted: CountedClause) -> exp.Column:
    by_row = counted.table is not None and counted.table.by_row
    return own_column("t0" if by_row else f"t{counted.column}", "t")
