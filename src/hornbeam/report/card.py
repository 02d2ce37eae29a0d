"""A model as a card in Markdown: question, data, scores, effects, limits and edits, from its file alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hornbeam.errors import plural
from hornbeam.logic.english.nouns import capital
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.files import LearnedModel
from hornbeam.model.readable.cards import effect_card, effect_cards
from hornbeam.model.readable.class_cards import averages_text, edit_lines, question_of

MOST_CHANGES = 3
"""Maximum number of classes that an effect names: those that it moves most."""
MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")
"""Characters that Markdown reads as marks."""


def plain(text: str) -> str:
    """A text that Markdown shows as it is.

    >>> print(plain("number of <b> in a_b"))
    number of \\<b\\> in a\\_b
    """
    return MARKS.sub(r"\\\1", " ".join(text.split()))


def model_card(model: LearnedModel) -> str:
    """The card of a model."""
    members = model.members() if isinstance(model, ClassModel) else [("", model)]
    shown = [
        (name, each.shown_for(name) if name and isinstance(each, Model) else each) for name, each in members
    ]
    first = shown[0][1]
    question = first.wording.question if isinstance(first, Model) and not shown[0][0] else model.target
    together = isinstance(model, ClassModel) and model.is_together
    if isinstance(model, ClassModel) and together:
        question = question_of(model.readers)
    blocks = [
        [f"# {plain(question)}"],
        [f"A model of Hornbeam: {plain(model.size_text)}, learner {model.learner}."],
        ["## Data", *_data(model, first)],
        ["## Scores", _score(model)],
        ["## Effects", *_all_effects(model, shown)],
        ["## Limits", *_limits(model)],
    ]
    edits = [line for _, each in shown if isinstance(each, Model) for line in each.edit_lines()]
    if isinstance(model, ClassModel) and together:
        edits = edit_lines(model.readers)
    if edits:
        blocks.append(["## Edits by hand", *(f"{n}. {plain(line)}" for n, line in enumerate(edits, 1))])
    return "\n\n".join("\n".join(_spaced(block)) for block in blocks) + "\n"


def _spaced(block: list[str]) -> Iterator[str]:
    """The lines of a block, with an empty line after a heading and before one."""
    for place, line in enumerate(block):
        if line.startswith("#") and place and not block[place - 1].startswith("#"):
            yield ""
        yield line
        if line.startswith("#") and place < len(block) - 1:
            yield ""


def _data(model: LearnedModel, first: LearnedModel) -> Iterator[str]:
    training = getattr(model, "training", None) or getattr(first, "training", None)
    if training is not None:
        yield f"- Learned from {plural(training.examples, 'example')} of `{model.target}`."
    tables = model.settings.get("tables")
    for name, stated in tables.items() if isinstance(tables, Mapping) else ():
        links = [
            f"`{column}` links to {plain(other)}" for column, other in (stated.get("links") or {}).items()
        ]
        key = [f"key `{stated['key']}`"] if stated.get("key") else []
        said = "; ".join(key + links)
        yield f"- Table {plain(str(name))}" + (f": {said}." if said else ".")
    used = model.predicates()
    yield (
        f"- It reads {plural(len(used), 'relation')}: "
        + (", ".join(f"`{name}`" for name in used) or "none")
        + "."
    )


def _score(model: LearnedModel) -> str:
    """The loss on held-out examples; a model for each class has none of them all."""
    own, base = model.settings.get("held_out_loss"), model.settings.get("base_loss")
    apart = isinstance(model, ClassModel) and not model.is_together
    if apart or not isinstance(own, float):
        return "- No score on held-out examples is known; `hornbeam evaluate` scores the model."
    beside = f"; of a constant: {base:.4f}" if isinstance(base, float) else ""
    return f"- Loss on training examples that were left out while learning: {own:.4f}{beside}."


def _all_effects(model: LearnedModel, shown: Sequence[tuple[str, LearnedModel]]) -> Iterator[str]:
    """The effects of all classes; of classes that were learned together, each effect once."""
    if not isinstance(model, ClassModel) or not model.is_together:
        for name, each in shown:
            yield from _effects(name, each)
        return
    if model.averages:
        average = plain(averages_text(model.readers))
        yield f"Probabilities of an average example: {average}. Changes are from there."
        yield ""
    members = [(name, each) for name, each in shown if isinstance(each, Model)]
    for place in range(len(members[0][1].effects)):
        own = sorted(members, key=lambda member: -member[1].effects[place].importance)[:MOST_CHANGES]
        cards = [(name, effect_card(each.effects[place], each.readers)) for name, each in own]
        changes = [f"{name} {card.change}" for name, card in cards if card.change]
        said = f": {plain(', '.join(changes))}" if changes else ""
        yield f"{place + 1}. {plain(capital(cards[0][1].phrase))}{said}."
    for weighted in members[0][1].clauses:
        yield f"- `{weighted.clause}`"
    if not members[0][1].effects and not members[0][1].clauses:
        yield "None: every example has the same prediction."


def _effects(name: str, model: LearnedModel) -> Iterator[str]:
    if name:
        yield f"### {plain(name)}"
    if not isinstance(model, Model):
        yield f"{plain(model.size_text)}; `hornbeam show` prints them."
        return
    readers = model.readers
    if readers.average is not None:
        average = readers.text_of(readers.scale.of_score(readers.average))
        yield f"The prediction for an average example is {average}. Changes are from there."
        yield ""
    for number, card in enumerate(effect_cards(model.effects, readers, None), start=1):
        change = f" {plain(capital(card.change))}." if card.change else ""
        yield f"{number}. {plain(card.sentence)}{change}"
    for weighted in model.clauses:
        yield f"- `{weighted.clause}`"
    if not model.effects and not model.clauses:
        yield "None: every example has the same prediction."


def _limits(model: LearnedModel) -> Iterator[str]:
    yield "- Effects are associations in the training data, not causes."
    yield "- Predictions are for examples like those of training, from tables that mean the same."
    if "times" in model.settings:
        yield "- An example with a cut-off sees only what was known before it; one without sees all rows."
    else:
        yield "- The model knows no cut-offs: it takes all rows that the tables hold."
    yield "- What is not in the tables is taken for false, and a missing value has a level of its own."
