"""Why an action and not the runner-up: what each effect adds for one and for the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hornbeam.drawing.markup import Markup, element, number_text, signed_text
from hornbeam.drawing.notebook import bar_picture, notebook_table
from hornbeam.logic.clauses import variable_name
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.features import SHARE
from hornbeam.model.clause_model import Model
from hornbeam.model.readable.runner_up import Difference, largest
from hornbeam.policies.episodes import Action
from hornbeam.policies.scoring import PreparedModel, StateFacts, Values


@dataclass(frozen=True)
class Decision:
    """The chosen action with its score, the runner-up if there is one, and how they differ."""

    action: Any
    score: float
    runner_up: Any
    runner_up_score: float | None
    differences: tuple[Difference, ...]

    @property
    def heading(self) -> str:
        """The two actions with their scores."""
        chosen = f"{action_text(self.action)} scores {self.score:.4g}"
        if self.runner_up_score is None:
            return f"{chosen}; it is the only applicable action"
        other = f"{action_text(self.runner_up)} {self.runner_up_score:.4g}"
        return f"{chosen}, the runner-up {other}"

    def __str__(self) -> str:
        return "\n".join(
            [self.heading, *(f"  {each.adds:+.3g} because {each.because}" for each in self.differences)]
        )

    def _repr_html_(self) -> Markup:
        most = max((abs(each.adds) for each in self.differences), default=1.0)
        rows = [
            (signed_text(each.adds), bar_picture(each.adds, most), each.because) for each in self.differences
        ]
        return notebook_table(element("b", self.heading), ("adds", "", "because"), rows, 1)


def action_text(action: Any) -> str:
    """An action as people write it: ``move(a, b)``."""
    return f"{action[0]}({', '.join(map(str, action[1:]))})"


Asked = tuple[Action, Values]
"""An action by its name and objects, and the values of its head."""


def differences(
    prepared: Mapping[str, PreparedModel], facts: StateFacts, chosen: Asked, other: Asked | None
) -> tuple[Difference, ...]:
    """How the scores of two actions differ, the largest difference first."""
    action = chosen[0]
    own = prepared[action[0]]
    if other is None:
        found = _alone(own, facts, chosen, 1.0)
    elif other[0][0] == action[0]:
        found = _compared(own, facts, chosen, other)
    else:
        rival = prepared[other[0][0]]
        found = [*_alone(own, facts, chosen, 1.0), *_alone(rival, facts, other, -1.0)]
    return largest(found)


def _compared(own: PreparedModel, facts: StateFacts, chosen: Asked, other: Asked) -> list[Difference]:
    """Two actions of the same model, effect by effect."""
    heads = [head for _, head in (chosen, other)]
    values = [own.values(facts, head) for head in heads]
    added = [own.contributions(facts, head) for head in heads]
    return [
        Difference(
            one - two, f"{_phrase(own.model, place)} is {_shown(own, place, a)}, not {_shown(own, place, b)}"
        )
        for place, (one, two, a, b) in enumerate(zip(*added, *values, strict=True))
    ]


def _alone(own: PreparedModel, facts: StateFacts, asked: Asked, sign: float) -> list[Difference]:
    """One action, effect by effect, with the base of its model."""
    action, head = asked
    text = action_text(action)
    found = [
        Difference(sign * adds, f"for {text}, {_phrase(own.model, place)} is {_shown(own, place, value)}")
        for place, (adds, value) in enumerate(
            zip(own.contributions(facts, head), own.values(facts, head), strict=True)
        )
    ]
    return [*found, Difference(sign * own.model.prior, f"this is what {action[0]} begins with")]


def _phrase(model: Model, place: int) -> str:
    """The feature of an effect in words."""
    effect = model.effects[place].effect
    phrase = text_of(feature_pieces(effect, model.schema, False, model.wording))
    return f"the answer to {phrase}" if phrase.startswith("whether ") else phrase


def _shown(own: PreparedModel, place: int, value: float) -> str:
    if value != value:
        return "missing"
    effect = own.model.effects[place].effect
    return f"{100 * value:.0f} %" if effect.feature.kind == SHARE else number_text(value, 3)


def head_text(name: str, types: Sequence[str]) -> str:
    """``sail(A: location, B: location)``."""
    return f"{name}({', '.join(f'{variable_name(n)}: {each}' for n, each in enumerate(types))})"


def model_words(model: Model, types: Sequence[str]) -> str:
    """A model of an action in words, with the action and its objects for a heading."""
    _, _, rest = model.words().partition("\n")
    return f"{head_text(model.target, types)}\n{rest}"
