"""The values of columns whose types are not known when a query is written.

A model names a constant by the text of its value: 3 for the number 3.0, 2024-12-31 for midnight of that day.
Databases write the same values in other ways, by the type of the column: 3.0, 3.00, 2024-12-31 00:00:00. So
constants are compared by value. The query asks for the type of a column where the system can tell it;
elsewhere text that reads as a number is compared as a number.

Moments are in UTC: a moment with a zone is converted, whatever the zone of the session, and a date is its
midnight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import datetime

from sqlglot import exp

from hornbeam.engines.export.constant_names import moment_named, number_named, spellings
from hornbeam.engines.sql.expressions import integer, moment_text, numeric, real
from hornbeam.errors import OptionError
from hornbeam.logic.clauses import AT_LEAST, Value
from hornbeam.logic.schema import DATE, read_value

_ZONED = ":[0-9]{2}([.][0-9]+)?(Z|[+-][0-9:]+)$"
"""how the text of a moment with a zone ends"""
_WHOLE = "^(0|-?[1-9][0-9]*)$"
"""the text of whole numbers that is also their text in keys"""
_NUMBER, _MOMENT = "number ", "moment "
"""how the keys of constants begin that are compared as numbers and moments"""


def values_for(dialect: str) -> UserValues:
    """The expressions of values in a dialect of SQL."""
    kinds = {
        "duckdb": _DuckDB,
        "postgres": _Postgres,
        "sqlite": _SQLite,
        "spark": _Spark,
        "databricks": _Spark,
        "mysql": _MySQL,
    }
    return kinds.get(dialect, UserValues)()


class UserValues:
    """Expressions that hold in every dialect; the session must be in UTC if moments have zones."""

    def check_times(self) -> None:
        """Raise an error if the system cannot compare times."""

    def number(self, value: exp.Expr) -> exp.Expr:
        """The value of a numeric column as DOUBLE."""
        return numeric(value, date=False)

    def moment(self, value: exp.Expr) -> exp.Expr:
        """A date or moment as TIMESTAMP in UTC."""
        return numeric(value, date=True)

    def constant(self, value: Value) -> exp.Expr:
        """A number as DOUBLE, or a date as TIMESTAMP in UTC."""
        if isinstance(value, datetime):
            return self.moment_of(value.isoformat(sep=" "))
        return exp.cast(real(value), "DOUBLE")

    def moment_of(self, text: str) -> exp.Expr:
        """The TIMESTAMP that a text without a zone spells."""
        return exp.cast(exp.Literal.string(text), "TIMESTAMP")

    def microseconds(self, moment: exp.Expr) -> exp.Expr:
        """The number of microseconds from the start of 1970 to a TIMESTAMP in UTC, as DOUBLE."""
        return exp.cast(self._since_1970(moment), "DOUBLE")

    def _since_1970(self, moment: exp.Expr) -> exp.Expr:
        start, unit = self.moment_of("1970-01-01 00:00:00"), exp.var("MICROSECOND")
        return exp.DateDiff(this=moment, expression=start, unit=unit)

    def of_kind(self, value: exp.Expr, kind: str) -> exp.Expr:
        """The value of a numeric column of a kind, a number or a date."""
        return self.moment(value) if kind == DATE else self.number(value)

    def clean(self, value: exp.Expr, kind: str) -> exp.Expr:
        """The value of a numeric column of a kind; NULL if it is missing."""
        return self.of_kind(value, kind)

    def compared(self, value: exp.Expr, operator: str, threshold: Value) -> exp.Expr:
        """The condition that a value of a numeric column is on one side of a threshold."""
        side = exp.GTE if operator == AT_LEAST else exp.LT
        return side(this=self._like(value, threshold), expression=self.constant(threshold))

    def equal_number(self, value: exp.Expr, constant: Value) -> exp.Expr:
        """The condition that a value of a numeric column equals a number or date."""
        return exp.EQ(this=self._like(value, constant), expression=self.constant(constant))

    def _like(self, value: exp.Expr, constant: Value) -> exp.Expr:
        return self.moment(value) if isinstance(constant, datetime) else self.number(value)

    def to_join(self, value: exp.Expr) -> exp.Expr:
        """The text of a value as a part of a joined column; NULL for empty text."""
        return exp.Nullif(this=text(value), expression=exp.Literal.string(""))

    def is_present(self, value: exp.Expr) -> exp.Expr:
        """The condition that a column has a value."""
        return exp.Not(this=exp.Is(this=value, expression=exp.null()))

    def present(self, value: exp.Expr, kind: str | None) -> exp.Expr:
        """The same for a column that is clean, if it has numbers of a kind."""
        return UserValues.is_present(self, value) if kind is not None else self.is_present(value)

    def is_set(self, value: exp.Expr) -> exp.Expr:
        """The condition that a flag is true, or a number other than 0."""
        return exp.NEQ(this=exp.cast(value, "INT"), expression=integer(0))

    def equals(self, value: exp.Expr, name: str) -> exp.Expr:
        """The condition that a value is the named constant."""
        same = exp.EQ(this=text(value), expression=exp.Literal.string(name))
        number = number_named(name)
        if number is None:
            return same
        as_number = exp.EQ(this=read_number(value.copy()), expression=self.constant(number))
        return exp.Paren(this=exp.Or(this=same, expression=as_number))

    def key(self, value: exp.Expr) -> exp.Expr:
        """Text that is the same for the same constant, to join with ``keys_of``."""
        leading_zero = exp.And(
            this=exp.Like(this=text(value), expression=exp.Literal.string("0_%")),
            expression=exp.Not(this=exp.Like(this=text(value), expression=exp.Literal.string("0.%"))),
        )
        number = exp.Case(
            ifs=[exp.If(this=exp.Not(this=exp.Paren(this=leading_zero)), true=read_number(value))]
        )
        return exp.Coalesce(this=_tagged(_NUMBER, _plain_zero(number)), expressions=[text(value)])

    def keys_of(self, names: Iterable[str]) -> Iterator[tuple[str, exp.Expr]]:
        """Names of constants, each with a key that ``key`` gives its values; a name may have several keys."""
        known: set[float] = set()
        for name in sorted(names, key=lambda name: number_named(name) is None):
            number = number_named(name)
            if number is None and not (name.startswith("0") and not name.startswith("0.")):
                spelled = read_value(name)
                number = spelled if isinstance(spelled, float) else None
            if number is None:
                yield name, exp.Literal.string(name)
            elif number not in known:
                known.add(number)
                yield name, _tagged(_NUMBER, self.constant(number))


class _Typed(UserValues, ABC):
    """A system that tells the type of a column."""

    @abstractmethod
    def is_real(self, value: exp.Expr) -> exp.Expr:
        """The condition that a value is a number that is not of an integer type."""

    def is_decimal(self, value: exp.Expr) -> exp.Expr:
        """The condition that a value is such a number, and is not written as a plain whole number."""
        return self.is_real(value)

    @abstractmethod
    def is_moment(self, value: exp.Expr) -> exp.Expr:
        """The condition that a value is a date or a moment."""

    def to_join(self, value: exp.Expr) -> exp.Expr:
        # Whole numbers may be of a type for decimal ones.
        whole = text(exp.cast(read_number(value), "BIGINT"))
        moments = moment_text(self.moment(value.copy()))
        return _case([(self.is_real(value), whole), (self.is_moment(value), moments)], super().to_join(value))

    def is_present(self, value: exp.Expr) -> exp.Expr:
        """The condition that a value is neither NULL nor empty text nor NaN."""
        return exp.NEQ(this=text(value), expression=self._missing(value))

    def _missing(self, value: exp.Expr) -> exp.Expr:
        """The text of a missing value that is not NULL."""
        return exp.Literal.string("")

    def clean(self, value: exp.Expr, kind: str) -> exp.Expr:
        return exp.Case(ifs=[exp.If(this=self.is_present(value.copy()), true=self.of_kind(value, kind))])

    def is_set(self, value: exp.Expr) -> exp.Expr:
        lower = exp.Lower(this=text(value))
        words = [(1, ("true", "t")), (0, ("false", "f"))]
        number = _case(
            [(_is_one_of(lower.copy(), each), integer(n)) for n, each in words], read_number(value)
        )
        return exp.NEQ(this=number, expression=integer(0))

    def equals(self, value: exp.Expr, name: str) -> exp.Expr:
        same = exp.EQ(this=text(value), expression=exp.Literal.string(name))
        number, moment = number_named(name), moment_named(name)
        if number is not None:
            as_number = exp.EQ(this=read_number(value), expression=self.constant(number))
            return _case([(self.is_decimal(value), as_number)], same)
        if moment is not None:
            as_moment = exp.EQ(this=self.moment(value.copy()), expression=self.constant(moment))
            return _case([(self.is_moment(value), as_moment)], same)
        return same

    def key(self, value: exp.Expr) -> exp.Expr:
        numbers = _tagged(_NUMBER, _plain_zero(read_number(value)))
        moments = _tagged(_MOMENT, self.moment(value.copy()))
        return _case([(self.is_decimal(value), numbers), (self.is_moment(value), moments)], text(value))

    def keys_of(self, names: Iterable[str]) -> Iterator[tuple[str, exp.Expr]]:
        for name in names:
            yield name, exp.Literal.string(name)
            number, moment = number_named(name), moment_named(name)
            if number is not None:
                yield name, _tagged(_NUMBER, self.constant(number))
            elif moment is not None:
                yield name, _tagged(_MOMENT, self.constant(moment))


class _DuckDB(_Typed):
    """DuckDB: ``typeof`` tells the type of a column."""

    _nan = "nan"
    _with_nan: tuple[str, ...] = ("FLOAT", "DOUBLE")
    _reals, _inexact = "^(FLOAT|DOUBLE|DECIMAL.*)$", "^(FLOAT|DECIMAL.*)$"
    _moments = "^(DATE|TIMESTAMP.*)$"

    def is_real(self, value: exp.Expr) -> exp.Expr:
        return self._is_of(value, self._reals)

    def is_decimal(self, value: exp.Expr) -> exp.Expr:
        # A whole number of 24 digits is its own text, and not a DOUBLE.
        whole = exp.RegexpLike(this=text(value), expression=exp.Literal.string(_WHOLE))
        return exp.And(this=self.is_real(value), expression=exp.Not(this=whole))

    def is_moment(self, value: exp.Expr) -> exp.Expr:
        return self._is_of(value, self._moments)

    def number(self, value: exp.Expr) -> exp.Expr:
        # Through text, as for tables that are loaded: the 32-bit float 0.7 is 0.7, not 0.699999988079071.
        return _case([(self._is_of(value, self._inexact), read_number(value))], super().number(value.copy()))

    def clean(self, value: exp.Expr, kind: str) -> exp.Expr:
        if kind == DATE:
            return super().clean(value, kind)
        # Through text, as in ``number``, which says what is missing, too.
        nothing = exp.Literal.string(self._nan)
        return exp.Nullif(this=read_number(value), expression=nothing)

    def moment(self, value: exp.Expr) -> exp.Expr:
        written = self._moment_text(value)
        zoned = exp.RegexpLike(this=written, expression=exp.Literal.string(_ZONED))
        in_utc = exp.AtTimeZone(this=exp.cast(written.copy(), "TIMESTAMPTZ"), zone=exp.Literal.string("UTC"))
        return _case([(zoned, in_utc)], exp.cast(written.copy(), "TIMESTAMP"))

    def _moment_text(self, value: exp.Expr) -> exp.Expr:
        """A moment as ISO text, with the zone of the session if its type has a zone."""
        return text(value)

    def _since_1970(self, moment: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="epoch_us", expressions=[moment])

    def _is_of(self, value: exp.Expr, pattern: str) -> exp.Expr:
        return exp.RegexpLike(this=self._type_of(value), expression=exp.Literal.string(pattern))

    def _missing(self, value: exp.Expr) -> exp.Expr:
        has_nan = _is_one_of(self._type_of(value), self._with_nan)
        return _case([(has_nan, exp.Literal.string(self._nan))], super()._missing(value))

    def _type_of(self, value: exp.Expr) -> exp.Expr:
        """The name of the type of a column."""
        return exp.Anonymous(this="typeof", expressions=[value.copy()])


class _Postgres(_DuckDB):
    """PostgreSQL: ``pg_typeof`` tells the type of a column."""

    _nan = "NaN"
    _with_nan = ("real", "double precision", "numeric")
    _reals, _inexact = "^(real|double precision|numeric)$", "^(real|numeric)$"
    _moments = "^(date|timestamp.*)$"

    def _type_of(self, value: exp.Expr) -> exp.Expr:
        return text(exp.Anonymous(this="pg_typeof", expressions=[value.copy()]))

    def clean(self, value: exp.Expr, kind: str) -> exp.Expr:
        if kind == DATE:
            return super().clean(value, kind)
        known = text(value)
        for nothing in ("", self._nan):
            known = exp.Nullif(this=known, expression=exp.Literal.string(nothing))
        return exp.cast(known, "DOUBLE")

    def _moment_text(self, value: exp.Expr) -> exp.Expr:
        # JSON has ISO dates, whatever the date style of the session.
        json = exp.Anonymous(this="to_jsonb", expressions=[value.copy()])
        return exp.Paren(this=exp.JSONBExtractScalar(this=json, expression=exp.Literal.string("{}")))

    def _since_1970(self, moment: exp.Expr) -> exp.Expr:
        seconds = exp.Extract(this=exp.var("EPOCH"), expression=moment)
        return exp.Round(this=exp.Mul(this=seconds, expression=integer(1_000_000)))


class _SQLite(_Typed):
    """SQLite: each value has its own type, and dates are text."""

    def check_times(self) -> None:
        raise OptionError(
            "SQLite has no type for times, so it cannot compare dates and cut-offs; "
            "use another dialect (DuckDB reads SQLite files)."
        )

    def moment(self, value: exp.Expr) -> exp.Expr:
        self.check_times()
        return super().moment(value)

    def moment_of(self, text: str) -> exp.Expr:
        self.check_times()
        return super().moment_of(text)

    def clean(self, value: exp.Expr, kind: str) -> exp.Expr:
        known = exp.Nullif(this=value, expression=exp.Literal.string(""))
        return self.of_kind(known, kind)

    def is_real(self, value: exp.Expr) -> exp.Expr:
        kind = exp.Anonymous(this="typeof", expressions=[value.copy()])
        return exp.EQ(this=kind, expression=exp.Literal.string("real"))

    def to_join(self, value: exp.Expr) -> exp.Expr:
        whole = text(exp.cast(value.copy(), "BIGINT"))
        return _case([(self.is_real(value), whole)], UserValues.to_join(self, value))

    def is_moment(self, value: exp.Expr) -> exp.Expr:
        return exp.false()

    def equals(self, value: exp.Expr, name: str) -> exp.Expr:
        if number_named(name) is not None:
            as_number = exp.EQ(this=value.copy(), expression=self.constant(number_named(name) or 0.0))
            same = exp.EQ(this=text(value), expression=exp.Literal.string(name))
            return _case([(self.is_real(value), as_number)], same)
        spelled = [exp.Literal.string(each) for each in spellings(name)]
        return exp.In(this=text(value), expressions=spelled)

    def key(self, value: exp.Expr) -> exp.Expr:
        return _case([(self.is_real(value), _exactly(_plain_zero(value.copy())))], text(value))

    def keys_of(self, names: Iterable[str]) -> Iterator[tuple[str, exp.Expr]]:
        names = list(names)
        taken = set(names)
        for name in names:
            number = number_named(name)
            if number is not None:
                yield name, _exactly(self.constant(number))
            for spelled in spellings(name):
                if spelled == name or spelled not in taken:
                    taken.add(spelled)
                    yield name, exp.Literal.string(spelled)


class _Spark(UserValues):
    """Spark: TIMESTAMP is a moment in UTC; DATE and TIMESTAMP_NTZ have no zone."""

    def moment(self, value: exp.Expr) -> exp.Expr:
        kind = exp.Anonymous(this="typeof", expressions=[value.copy()])
        is_moment = exp.EQ(this=kind, expression=exp.Literal.string("timestamp"))
        without = exp.cast(exp.cast(value.copy(), "TIMESTAMPNTZ"), "TEXT")
        zoned = exp.Concat(expressions=[without, exp.Literal.string("+00:00")])
        return _case([(is_moment, numeric(value.copy(), date=True))], numeric(zoned, date=True))

    def moment_of(self, text: str) -> exp.Expr:
        return super().moment_of(f"{text}+00:00")

    def _since_1970(self, moment: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="unix_micros", expressions=[moment])


class _MySQL(UserValues):
    """MySQL: DATEDIFF counts days only."""

    def _since_1970(self, moment: exp.Expr) -> exp.Expr:
        start, unit = self.moment_of("1970-01-01 00:00:00"), exp.var("MICROSECOND")
        return exp.TimestampDiff(this=moment, expression=start, unit=unit)


# --- texts ----------------------------------------------------------------------------------------


def text(value: exp.Expr) -> exp.Expr:
    """A value as text."""
    return exp.cast(value.copy(), "TEXT")


def read_number(value: exp.Expr) -> exp.Expr:
    """The number that the text of a value spells, as DOUBLE; NULL for other text where systems allow it."""
    return exp.TryCast(this=text(value), to=exp.DataType.build("DOUBLE"), safe=True, requires_string=True)


def _plain_zero(number: exp.Expr) -> exp.Expr:
    """A number, with 0 in place of -0, whose text differs."""
    return exp.Add(this=number, expression=real(0.0))


def _tagged(tag: str, value: exp.Expr) -> exp.Expr:
    return exp.DPipe(this=exp.Literal.string(tag), expression=exp.cast(value, "TEXT"), safe=False)


def _exactly(number: exp.Expr) -> exp.Expr:
    """A number as text with all its digits; a cast in SQLite keeps 15 of them."""
    printed = exp.Anonymous(this="printf", expressions=[exp.Literal.string("%!.17g"), number])
    return _tagged(_NUMBER, printed)


def _is_one_of(value: exp.Expr, words: Iterable[str]) -> exp.Expr:
    return exp.In(this=value, expressions=[exp.Literal.string(word) for word in words])


def _case(cases: Iterable[tuple[exp.Expr, exp.Expr]], default: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in cases], default=default)
