"""A person at work on one model: what is shown, edits with undo, what-if, and saving."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hornbeam.data.database import UNLABELLED, Examples
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError, ModelError, OptionError, Place
from hornbeam.logic.english.nouns import capital
from hornbeam.model.class_model import ClassModel, with_edits
from hornbeam.model.clause_model import Model
from hornbeam.model.editing.edits import effect_name
from hornbeam.model.effects import by_importance
from hornbeam.model.files import LearnedModel, predictions_of, save_model
from hornbeam.model.readable.cards import card_table, effect_card
from hornbeam.model.training import is_training_data, key_names
from hornbeam.report.live.trials import Trials
from hornbeam.report.live.what_if import Change, ChangeableTables, difference
from hornbeam.report.plots.curve import curve_plot

MOST_EXAMPLES = 2_000
"""Maximum number of examples in the list; others are found by their key."""
_FILE = re.compile(r"[\w][\w .()+-]*\.json")


class LiveModel:
    """One model on one set of examples; its answers are JSON values."""

    def __init__(
        self,
        learned: LearnedModel,
        engine: Engine,
        examples: Examples,
        tables: ChangeableTables | None,
        folder: Path,
        of_class: str | None = None,
    ) -> None:
        if isinstance(learned, ClassModel):
            of_class = of_class or learned.classes[-1]
        elif of_class is not None:
            raise OptionError("--class is refused: the model has no classes.")
        self._versions: list[LearnedModel] = [learned]
        self._engine, self._examples, self._tables = engine, examples, tables
        self._folder, self._class = folder, of_class
        self._start = len(self._member.edits)
        self._trials = Trials(learned, engine, examples)
        self._losses = [self._trials.loss(learned)]
        names = key_names(engine.database, examples)
        self._of_training = is_training_data(learned, names)
        self._places = {", ".join(row[: self._arity]): place for place, row in reversed([*enumerate(names)])}
        self._names = names

    @property
    def _model(self) -> LearnedModel:
        return self._versions[-1]

    @property
    def _member(self) -> Model:
        """The model whose effects are shown: that of one class, if there are several."""
        model = self._model
        member = model.member(str(self._class)) if isinstance(model, ClassModel) else model
        return with_edits(member, ()).shown_for(self._class or "")

    @property
    def _arity(self) -> int:
        return self._model.schema.arity(self._model.target)

    def state(self) -> dict[str, Any]:
        """The model as it is now."""
        model = self._member
        readers = model.readers
        cards = [effect_card(fitted, readers) for fitted in by_importance(model.effects)]
        first, last = self._losses[0], self._losses[-1]
        return {
            "question": readers.wording.question,
            "size": model.size_text,
            "loss": None if last is None else last._asdict(),
            "first_loss": None if first is None else first.value,
            "of_training": bool(self._of_training),
            "edits": model.edit_lines(),
            "undo": len(self._versions) - 1,
            "what_if": self._tables is not None,
            "score": readers.scale.score or "score",
            "effects": [
                {
                    "name": effect_name(card.fitted.effect),
                    "sentence": card.sentence,
                    "change": capital(card.change),
                    "plot": curve_plot(card).svg(),
                    "table": card_table(card),
                }
                for card in cards
            ],
        }

    def examples(self) -> dict[str, Any]:
        """The first examples with their labels and predictions, in the order of the data."""
        examples = self._examples
        keys = examples.keys[:MOST_EXAMPLES]
        predicted = predictions_of(self._member, self._engine, keys)
        labels = examples.values if examples.values is not None else examples.labels
        texts = [self._label(label) for label in labels[:MOST_EXAMPLES].tolist()]
        rows = zip(self._names, texts, predicted.tolist(), strict=False)
        return {
            "total": len(examples),
            "rows": [{"key": ", ".join(row[: self._arity]), "cutoff": ", ".join(row[self._arity :]),
                      "label": text, "predicted": value} for row, text, value in rows],
        }  # fmt: skip

    def _label(self, label: float) -> str:
        if self._examples.values is not None:
            return "" if np.isnan(label) else f"{label:g}"
        if label == UNLABELLED:
            return ""
        texts = self._examples.classes or self._examples.label_texts
        return texts[int(label)]

    def example(self, place: int) -> dict[str, Any]:
        """The rows around an example, and why it has its prediction."""
        row = self._row(place)
        shown = {} if self._tables is None else {
            "tables": [near._asdict() for near in self._tables.near(self._types, row)]
        }  # fmt: skip
        return shown | self.what_if(place, [])

    def find(self, key: str) -> dict[str, Any]:
        """The place of the example with a key."""
        text = ", ".join(part.strip() for part in key.split(","))
        if text not in self._places:
            raise DataError(f'no example has the key "{text}".')
        return {"place": self._places[text]}

    def what_if(self, place: int, changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The prediction for an example before and after changes of the tables, and which effects move."""
        if self._tables is None:
            raise DataError("the data are no tables, so nothing in them can be changed here.")
        row, model = self._row(place), self._member
        made = [_change(each) for each in changes]
        before = self._tables.explained(model, row)
        after = self._tables.explained(model, row, made) if made else before
        return {
            "heading": after.heading,
            "prior": after.prior,
            "before": {"score": before.log_odds, "prediction": before.probability},
            "after": {"score": after.log_odds, "prediction": after.probability},
            "numeric": after.scale.numeric,
            "parts": difference(before, after),
        }

    @property
    def _types(self) -> Sequence[str]:
        return self._model.schema.types_of(self._model.target)

    def _row(self, place: int) -> list[str]:
        if not 0 <= place < len(self._names):
            raise DataError(f"there is no example {place}.")
        return self._names[place]

    def edit(self, edits: Sequence[str], by: str) -> dict[str, Any]:
        """Edit the model; one undo takes back what one call did."""
        model = self._model
        if isinstance(model, ClassModel):
            edited: LearnedModel = model.edited(*edits, by=by, of_class=self._class)
        else:
            edited = with_edits(model, edits, by)
        self._losses.append(self._trials.loss(edited))
        self._versions.append(edited)
        return self.state()

    def undo(self) -> dict[str, Any]:
        """Take back the last edit."""
        if len(self._versions) == 1:
            raise ModelError("there is no edit to take back.")
        self._versions.pop()
        self._losses.pop()
        return self.state()

    def save(self, name: str) -> dict[str, Any]:
        """Write the model to a new file in the folder of the session."""
        if _FILE.fullmatch(name) is None:
            raise DataError(
                f'"{name}" is no name of a model file: it must be letters and digits, then .json.'
            )
        path = self._folder / name
        if path.exists():
            raise DataError("there is a file of this name; choose another one.", Place(name))
        save_model(self._model, path)
        return {"saved": name, "edits": len(self._member.edits) - self._start}


def _change(fields: Mapping[str, Any]) -> Change:
    """A change as a page sends it."""
    table, row, column = fields.get("table"), fields.get("row"), fields.get("column")
    value = fields.get("value", "")
    if not isinstance(table, str) or type(row) is not int or not isinstance(column, str | None):
        raise DataError("a change must have a table, the number of a row, and a column or none.")
    if not isinstance(value, str):
        raise DataError("the value of a change must be text.")
    return Change(table, row, column, value)
