"""Counts that a learner comes back to: kept in tables, summed and multiplied with gradients there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from hornbeam.engines.contract import INT64_MAX, Counts
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.examples import Head, SqlExamples
from hornbeam.engines.sql.expressions import own_column, own_table, product
from hornbeam.engines.sql.messages import CELL
from hornbeam.engines.sql.sizes import WIDE_MAX
from hornbeam.logic.clauses import Clause

LEAST_GRADIENT = 2**30
"""Queries are written for gradients of at least this size, so that their text can be kept."""


@dataclass(slots=True, eq=False)
class _CountTable:
    """Kept counts of several clauses over the same head variables."""

    name: str
    head: Head
    size: int
    members: list[KeptTable]
    query: str = ""
    """text of the sums of products with the gradients, once made"""
    gradient_limit: int = 0
    """the largest gradient that the query's integer types hold"""


@dataclass(slots=True, eq=False)
class KeptTable:
    """A counted clause: its sums, and where its counts are while they are kept."""

    clause: Clause
    total: int
    largest: int
    """an upper bound of its counts, or the largest of them"""
    measured: bool = False
    true: int | None = None
    true_squared: int = 0
    true_gradient: int = 0
    round: int = -1
    """the gradients that ``true_gradient`` belongs to"""
    table: _CountTable | None = None
    column: int = 0


class KeptTables:
    """Tables of counts, or of their logarithms, under a budget: those not asked for longest go first."""

    def __init__(self, connection: Connection, examples: SqlExamples, memory: int) -> None:
        self._connection = connection
        self._examples = examples
        self._memory = memory
        self._tables: OrderedDict[str, _CountTable] = OrderedDict()
        self._bytes = 0

    def keep(self, head: Head, members: Sequence[KeptTable], query: exp.Select) -> None:
        """Make the table that a query gives, its columns ``t0 t1 ...`` the counts of the members."""
        name = self._connection.new_name()
        self._connection.create(name, query)
        size = CELL * len(self._examples.bindings(head)) * (2 + len(members))
        table = self._tables[name] = _CountTable(name, head, size, list(members))
        self._bytes += size
        for number, kept in enumerate(members):
            kept.table, kept.column = table, number

    def trim(self) -> None:
        """Drop tables beyond the budget; their members are counted again when they are asked for."""
        while self._bytes > self._memory and self._tables:
            name, table = self._tables.popitem(last=False)
            self._connection.drop(name)
            self._bytes -= table.size
            for kept in table.members:
                if kept.table is table:
                    kept.table = None

    def fetch(self, members: Sequence[KeptTable]) -> dict[Clause, Counts]:
        """The counts of kept clauses, one query for each table that they are in."""
        by_table: dict[str, list[KeptTable]] = {}
        for kept in members:
            if kept.table is not None:
                by_table.setdefault(kept.table.name, []).append(kept)
        found: dict[Clause, Counts] = {}
        for name, some in by_table.items():
            columns = [self._connection.dialect.cast(_counts(kept)) for kept in some]
            query = exp.Select().from_(own_table(name, "t"), copy=False)
            query = query.select(own_column("example", "t"), *columns, copy=False)
            example, *counts = self._connection.integers(self._connection.dialect.text(query), 1 + len(some))
            keys = self._examples.bindings(self._tables[name].head)
            for kept, column in zip(some, counts, strict=True):
                found[kept.clause] = Counts(keys.spread(example, column), kept.total)
        return found

    def close(self) -> None:
        self._connection.give_back(self._tables)
        self._tables.clear()
        self._bytes = 0

    # --- sums ------------------------------------------------------------------------------------

    def update(self, members: Sequence[KeptTable]) -> None:
        """Bring the sums of counts that are kept up to the present gradients."""
        for kept in members:
            table = kept.table
            if table is None or kept.round == self._examples.round:
                continue
            self._tables.move_to_end(table.name)
            new = [member for member in table.members if member.true is None]
            if new:
                self._sum(table, new)
            else:
                self._multiply(table, _one_row(self._connection, self._gradient_query(table)))

    def _sum(self, table: _CountTable, new: list[KeptTable]) -> None:
        """All sums of a new table, in one query."""
        number, keys = len(self._examples), self._examples.with_gradients(table.head)
        # Bounds from degrees may be far too high; to sum in wide integers costs more than to look.
        self._measure(table, [kept for kept in new if kept.largest**2 * number > INT64_MAX])
        sums: list[exp.Expr] = []
        for kept in new:
            count, weight, most = _counts(kept), own_column("weight", "t"), kept.largest
            sums.append(self._summed([count, weight], most * keys.heaviest, len(keys)))
            squares: list[exp.Expr] = [count.copy(), count.copy(), weight.copy()]
            if most**2 * number > WIDE_MAX:
                squares = [exp.Literal.number(0)]
            sums.append(self._summed(squares, most**2 * keys.heaviest, len(keys)))
        sums += self._products(table, keys.largest_gradient)
        found = _one_row(self._connection, self._sums_text(table, sums))
        self._multiply(table, found[2 * len(new) :])
        for kept, true, squared in zip(new, found[::2], found[1::2], strict=False):
            kept.true, kept.true_squared = true, squared
            if kept.largest**2 * number > WIDE_MAX:
                column = self.fetch([kept])[kept.clause].true
                kept.true_squared = sum(count * count for count in column.tolist())

    def _multiply(self, table: _CountTable, products: Sequence[int]) -> None:
        for kept, product_sum in zip(table.members, products, strict=True):
            kept.true_gradient, kept.round = product_sum, self._examples.round

    def _measure(self, table: _CountTable, members: Sequence[KeptTable]) -> None:
        """Replace the bounds of counts by the largest count of each."""
        unknown = [kept for kept in members if not kept.measured]
        if unknown:
            item = own_table(table.name, "t")
            found = largest_counts(self._connection, item, [kept.column for kept in unknown])
            for kept, largest in zip(unknown, found, strict=True):
                kept.largest, kept.measured = largest, True

    def _gradient_query(self, table: _CountTable) -> str:
        """The text of the sums of products with the gradients, kept while their size allows it."""
        keys = self._examples.with_gradients(table.head)
        if not table.query or keys.largest_gradient > table.gradient_limit:
            table.gradient_limit = max(keys.largest_gradient, LEAST_GRADIENT * keys.heaviest)
            table.query = self._sums_text(table, self._products(table, table.gradient_limit))
        return table.query

    def _products(self, table: _CountTable, gradient: int) -> list[exp.Expr]:
        """The sum of products with gradients up to some size, for each member."""
        rows = len(self._examples.bindings(table.head))
        return [
            self._summed([_counts(kept), own_column("gradient", "d")], kept.largest * gradient, rows)
            for kept in table.members
        ]

    def _summed(self, factors: list[exp.Expr], largest: int, rows: int) -> exp.Expr:
        """The sum over so many rows of a product of at most some size, in integers that hold it."""
        dialect = self._connection.dialect
        if largest > INT64_MAX or (largest * rows > INT64_MAX and not dialect.sum_widens):
            factors = [dialect.cast(factors[0], wide=True), *factors[1:]]
        return exp.Sum(this=product(factors))

    def _sums_text(self, table: _CountTable, sums: Sequence[exp.Expr]) -> str:
        same = exp.EQ(this=own_column("example", "t"), expression=own_column("example", "d"))
        gradients = own_table(self._examples.bindings(table.head).gradient_table, "d")
        query = exp.Select().from_(own_table(table.name, "t"), copy=False)
        query = query.join(gradients, on=same, join_type="INNER", copy=False)
        return self._connection.dialect.text(query.select(*sums, copy=False))


def largest_counts(connection: Connection, item: exp.Expr, columns: Sequence[int]) -> list[int]:
    """The largest count in each of some columns of a table or subquery ``t``."""
    query = exp.Select().from_(item, copy=False)
    greatest = (exp.Max(this=own_column(f"t{column}", "t")) for column in columns)
    return _one_row(connection, connection.dialect.text(query.select(*greatest, copy=False)))


def _one_row(connection: Connection, query: str) -> list[int]:
    """The numbers of a query that gives one row."""
    (row,) = connection.rows(query)
    return [int(value or 0) for value in row]


def _counts(kept: KeptTable) -> exp.Column:
    return own_column(f"t{kept.column}", "t")
