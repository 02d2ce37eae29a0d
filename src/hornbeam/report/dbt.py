"""A model as two files of a dbt project: the query, and what its columns mean, with tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from hornbeam.errors import OptionError
from hornbeam.logic.english.clauses import sentence, text_of
from hornbeam.logic.english.nouns import capital
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.features import SHARE
from hornbeam.model.readable.cards import effect_card
from hornbeam.model.readable.class_cards import question_of

if TYPE_CHECKING:
    from hornbeam.engines.export.clauses import ScoredClause
    from hornbeam.engines.export.scoring import ScoringModel
    from hornbeam.engines.export.user_tables import Table


class DbtPlace(NamedTuple):
    """What the query is called in the project, and where it finds its tables."""

    name: str
    dialect: str = "duckdb"
    source: str | None = None
    """the source of all tables that are in no schema; None if they are models of the project"""


def dbt_files(
    learned: Model | ClassModel,
    place: DbtPlace,
    tables: Mapping[str, Table] | None = None,
    examples: Table | None = None,
) -> dict[str, str]:
    """The text of each file, by its path in the project; tables and examples are as for ``Model.sql``."""
    from hornbeam.engines.export.dbt import dbt_query, literal

    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", place.name):
        better = re.sub(r"\W|^(?=\d)", "_", place.name, flags=re.ASCII)
        raise OptionError(
            f'"{place.name}" cannot name a model of dbt: use letters, digits and underscores, such as '
            f"--name {better}."
        )
    model = learned if isinstance(learned, Model) else learned.together()[0]
    facts, asked = model.places(tables, examples)
    read = {table.name[-1] for table in (*facts.values(), asked)}
    if place.name in read and place.source is None:
        raise OptionError(
            f'"{place.name}" is a table that the query reads; give the model another name, such as '
            f"--name {place.name}_scored."
        )
    scored = model.as_scored() if isinstance(learned, Model) else learned.as_scored()
    query = dbt_query(scored, place.dialect, facts, asked, place.source)
    columns = [*asked.columns, *([] if asked.time is None else [asked.time])]
    yaml = "\n".join(_properties(learned, model, scored, place, columns))
    header = literal(f"-- {_title(learned)} Written by hornbeam sql --dbt: do not edit it, write it again.\n")
    return {f"models/{place.name}.sql": header + query, f"models/{place.name}.yml": f"{yaml}\n"}


def _title(model: Model | ClassModel) -> str:
    if isinstance(model, ClassModel):
        return f"{' '.join(question_of(model.readers).split())} A model of {model.size_text}."
    return f"{' '.join(model.wording.question.split())} A model of {model.size_text}."


def _properties(
    learned: Model | ClassModel, model: Model, scored: ScoringModel, place: DbtPlace, keys: list[str]
) -> Iterator[str]:
    """The lines of the file of properties."""
    from hornbeam.engines.export.dbt import is_probability, whole_key

    yield from ("version: 2", "", "models:", f"  - name: {place.name}")
    yield f"    description: {_quoted(_title(learned))}"
    checks = []
    if len(keys) > 1:
        checks.append(("unique", "key_is_unique", whole_key(keys, place.dialect), ""))
    if not model.scale.numeric and isinstance(learned, Model):
        between = is_probability(place.dialect)
        checks.append(("accepted_values", "has_probabilities", between, ", values: [true], quote: false"))
    if checks:
        yield "    data_tests:"
    for test, name, column, more in checks:
        yield f"      - {test}:"
        yield f"          name: {place.name}_{name}"
        yield f"          arguments: {{column_name: {_quoted(column)}{more}}}"
    yield "    columns:"
    for name in keys:
        yield from _column(name, f"Key of the {model.wording.example or 'example'}.", quoted=True)
        yield f"        data_tests: [{'not_null' if len(keys) > 1 else 'not_null, unique'}]"
    for name, text in _descriptions(model, scored):
        yield from _column(name, text)
    if isinstance(learned, ClassModel):
        yield from _class_columns(learned, scored)
        return
    scale = model.scale
    yield from _column("score", f"The {scale.score or 'prediction'}: the prior and what all effects add.")
    said = f"The prediction. {model.wording.question}"
    if not scale.numeric:
        said = f"The probability that the answer is yes. {model.wording.question}"
    yield from _column(scale.prediction, said)
    yield "        data_tests: [not_null]"


def _class_columns(learned: ClassModel, scored: ScoringModel) -> Iterator[str]:
    """The columns of each class: what each effect adds to it, its score, its probability."""
    from hornbeam.engines.export.class_scores import column_words

    words = [*zip(column_words(learned.classes), learned.classes, strict=True)]
    for number in scored.moving_effects:
        for word, name in words:
            yield from _column(f"adds_{number}_{word}", f"What value_{number} adds to the score of {name}.")
    for word, name in words:
        yield from _column(f"score_{word}", f"The score of {name}: its prior and what all effects add.")
    for word, name in words:
        yield from _column(f"probability_{word}", f"The probability of {name}.")
        yield "        data_tests: [not_null]"


def _column(name: str, description: str, quoted: bool = False) -> Iterator[str]:
    yield f"      - name: {_quoted(name)}"
    if quoted:
        yield "        quote: true"
    yield f"        description: {_quoted(description)}"


def _descriptions(model: Model, scored: ScoringModel) -> Iterator[tuple[str, str]]:
    """The columns with counts of clauses and values of effects, and what they mean."""
    for number, clause in enumerate(scored.all_clauses, start=1):
        if not clause.weighs_anything:
            continue
        said = _clause_text(model, clause)
        if clause.each is not None:
            yield f"sum_{number}", f"The sum of the weights of constants. {said}"
            continue
        yield f"true_{number}", f"The number of true groundings of the clause {clause.clause} {said}"
        if clause.weighs_false:
            yield f"false_{number}", f"The number of false groundings of the clause {clause.clause}"
    for number, fitted in enumerate(model.compact().effects, start=1):
        if number in scored.moving_effects:
            card = effect_card(fitted, model.readers)
            change = f" {capital(card.change)}." if card.change else ""
            said = "" if scored.classes else f" {card.sentence}{change}"
            yield f"value_{number}", f"{capital(card.phrase)}.{said}"


def _clause_text(model: Model, clause: ScoredClause) -> str:
    """The sentence of a clause, which needs the sign of its weight."""
    weights = [weight for _, weight in clause.constants] if clause.each is not None else clause.weights[1:2]
    signs = {weight > 0 for weight in weights if weight}
    rises = signs.pop() if len(signs) == 1 and clause.each is None else None
    share = clause.feature == SHARE
    said = sentence(clause.clause, model.schema, rises, at_least=clause.bound, each=clause.each, share=share)
    return text_of(said)


def _quoted(text: str) -> str:
    """Text as a scalar of YAML, in which Jinja finds nothing.

    >>> print(_quoted('kind "a"'), _quoted("{{ x }}"))
    "kind \\"a\\"" "{{ '{' }}{ x }}"
    """
    from hornbeam.engines.export.dbt import literal

    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(escapes.get(each) or _printable(each) for each in literal(text)) + '"'


def _printable(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08x}"
