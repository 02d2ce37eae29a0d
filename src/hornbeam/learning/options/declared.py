"""Declarations of all options of all learners.

The options come first. Then each learner lists the options that it has, with its defaults. ``rlr`` has two
lists, one for each preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import ClassVar

from hornbeam.learning.options.option import (
    NameOrNone,
    Number,
    OneOf,
    Option,
    Options,
    Phrases,
    Share,
    Whole,
    YesNo,
)
from hornbeam.logic.clauses import FALSE_COUNTS, POPULATION
from hornbeam.model.scales import SCALES

DEFAULT = "default"
"""The preset that learns effects with curves."""
PAPER = "paper"
"""The preset that is the algorithm as it was published."""
ALL = "all"
"""All effects of the long model."""
AUTO = "auto"
"""The loss that suits the target."""
BASE_RATE = "base-rate"
"""The prior that is the log-odds of the positives among the training examples."""

# --- groups --------------------------------------------------------------------------------------

CLAUSES = "What a model may contain"
SEARCH = "Search"
WEIGHTS = "Weights"
SAMPLE = "Training examples"
GROUPS = (CLAUSES, SEARCH, WEIGHTS, SAMPLE)
"""Headings of the command line's help, in order."""

# --- what clauses may contain --------------------------------------------------------------------

MAX_LITERALS = Option(
    "Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). "
    "A comparison that is added together with an atom is not counted. For effects, the maximum number of "
    "links and conditions in a body together.",
    CLAUSES,
    Whole(1, 20),
    none="any",
)
NEGATION = Option(
    "Allow negated literals. Effects have none: a curve has a level for a count of 0.", CLAUSES, YesNo()
)
N_THRESHOLDS = Option(
    "Maximum number of thresholds that are tried for each numeric argument; 0 allows no comparisons.",
    CLAUSES,
    Whole(0, 10_000),
    flag="--thresholds",
)
FEATURE = Option(
    "Number that a weight multiplies: the count, or log for ln(1 + count).",
    CLAUSES,
    OneOf(("count", "log")),
    successor="n_cuts",
)
FALSE_GROUNDINGS = Option(
    "How false groundings are counted: over all combinations of constants (population), or only where the "
    "body without its last literal holds (guarded).",
    CLAUSES,
    OneOf(FALSE_COUNTS),
)
N_CUTS = Option(
    "Maximum number of cuts of a curve; auto for 8 to 32, by the number of examples; 32 for numbers.",
    CLAUSES,
    Whole(1, 100, words=(None,)),
    flag="--cuts",
    none="auto",
)
MAX_LINKS = Option(
    "Maximum number of links to many things in a body. Links to one thing are free.", CLAUSES, Whole(0, 4)
)
MAX_CONDITIONS = Option(
    "Maximum number of conditions in a body: constants, comparisons, flags.", CLAUSES, Whole(0, 4)
)
PER_CONSTANT = Option("Allow weights for each constant of a variable.", CLAUSES, YesNo())
_DIRECTION = (
    "Effects whose curve may only {} with the value, named by words as show prints them, such as "
    '"number of orders" or "age"; longer phrases that begin so are meant, too. Not for more than two classes.'
)
RISING = Option(_DIRECTION.format("rise"), CLAUSES, Phrases(), none="none")
FALLING = Option(_DIRECTION.format("fall"), CLAUSES, Phrases(), none="none")
MIN_SUPPORT = Option(
    "Minimum number of training examples on each side of a cut, and with a constant; auto for 3, or 0.2 % "
    "of the examples if that is more.",
    CLAUSES,
    Whole(1, 10**9, words=(None,)),
    none="auto",
)

# --- search --------------------------------------------------------------------------------------

N_STEPS = Option(
    "Maximum number of boosting steps. Each step adds to a curve (preset paper: a clause, mln-boost: "
    "several, rdn-boost: a tree). In the default preset, auto is 600; if held-out examples choose the number,"
    " it is half the number of examples that are learned from if that is more, but at most 2000.",
    SEARCH,
    Whole(1, 1_000_000),
    flag="--steps",
    none="auto",
)
CLAUSES_PER_STEP = Option(
    "Maximum number of clauses that a step adds; each is fitted to what the earlier ones leave unexplained.",
    SEARCH,
    Whole(1, 1000),
)
BEAM_WIDTH = Option(
    "Number of candidates that are kept at each length of the search.",
    SEARCH,
    Whole(1, 1_000_000),
    successor="max_links",
)
STOP = Option(
    "Take the best clause of any length (best), or always extend clauses to the maximum length (full).",
    SEARCH,
    OneOf(("best", "full")),
    successor="max_conditions",
)
LENGTH_PENALTY = Option(
    "Share of its gain that a clause loses for each literal after the first.",
    SEARCH,
    Share(),
    successor="max_conditions",
)
LOOK_AHEAD = Option(
    "Extend literals that only introduce a new variable, even if they gain nothing themselves.",
    SEARCH,
    YesNo(),
    successor="max_links",
)
MAX_DEPTH = Option("Maximum number of tests from the root of a tree to a leaf.", SEARCH, Whole(1, 30))
MAX_LEAVES = Option(
    "Maximum number of leaves of a tree; the split with the greatest gain comes first.",
    SEARCH,
    Whole(2, 10_000),
)
MIN_EXAMPLES = Option("Minimum number of training examples in a leaf.", SEARCH, Whole(1, 10**9))
MAX_ROUNDS = Option(
    "Number of rounds in which a bottom clause is built; each round follows links one step further.",
    SEARCH,
    Whole(1, 10),
)
MAX_RECALL = Option(
    "Maximum number of facts that a mode adds to a bottom clause for each binding of its inputs.",
    SEARCH,
    Whole(1, 1_000_000),
)
MAX_BODIES = Option(
    "Maximum number of clause bodies that are tried for one positive example.", SEARCH, Whole(1, 100_000_000)
)

# --- weights -------------------------------------------------------------------------------------

L2 = Option("Strength of the ridge penalty on the weights.", WEIGHTS, Number(above=0.0, most=1e100))
PRIOR = Option(
    "Log-odds before the first step: a number, or base-rate for the log-odds of the positives among the "
    "training examples. For numeric targets, the score: with base-rate, that of the best constant. Steps "
    "that add to curves, and refit, fit the intercept again.",
    WEIGHTS,
    Number(words=(BASE_RATE,), most=1e100),
)
REFIT = Option(
    "Fit the weights of all clauses again, jointly, after each step.",
    WEIGHTS,
    YesNo(),
    successor="learning_rate",
)
LOSS = Option(
    "Loss to minimise: logistic for labels and classes; for numbers squared, absolute, huber, which is "
    "squared for all but outliers, or poisson, which is for counts; choice for which of several alternatives "
    "is right. auto is logistic for labels and squared for numbers; logistic learns numbers as classes.",
    WEIGHTS,
    OneOf((AUTO, *(name for name, scale in SCALES.items() if not scale.of_class))),
)
POPULATIONS = Option(
    "Data that give the total number of groundings of each clause in a prediction: the data to predict on "
    "(database), or the training data (training; always if examples have cut-offs).",
    WEIGHTS,
    OneOf(("database", "training")),
)
LEARNING_RATE = Option("Share of its best size that each step has.", WEIGHTS, Number(above=0.0, most=1.0))
N_BAGS = Option(
    "Number of models that are averaged, each learned from 85 % of the examples; the others choose the "
    "number of steps. 1 learns one model, and chooses the number of steps by cross-validation. If examples "
    "have cut-offs and no group is given, later examples choose it.",
    WEIGHTS,
    Whole(1, 1000),
    flag="--bags",
)
GROUP = Option(
    "Keep examples together that are linked to the same thing of this table: bags, folds and held-out "
    "examples have all or none of them. Without it, examples are held out one by one, or by time if they "
    "have cut-offs.",
    SAMPLE,
    NameOrNone(),
    none="none",
)
CHOICE = Option(
    "For the loss choice, the column whose equal values are one choice: a column of the target's table, or "
    "one of its keys. Bags, folds and held-out examples have a choice whole or not at all. If it is not "
    "given, the examples need a column choice.",
    WEIGHTS,
    NameOrNone(),
    none="none",
)
VALIDATE = Option(
    "Choose the number of steps and of effects on held-out examples; otherwise all steps are done.",
    WEIGHTS,
    YesNo(),
)
MAX_EFFECTS = Option(
    "Maximum number of effects in the model, or all for the long model. With auto, it is 20, or up to 120 if "
    "20 keep less than 95 % of what the long model gains on held-out examples. The model has the fewest "
    "effects that keep the share keep_gain.",
    WEIGHTS,
    Whole(1, 1_000_000, words=(None, ALL)),
    flag="--effects",
    none="auto",
)
KEEP_GAIN = Option(
    "Share of the long model's gain on held-out examples over a constant that the effects of the model keep.",
    WEIGHTS,
    Number(0.0, most=1.0),
)
RENAMED = MappingProxyType({"max_clauses": "max_effects"})
"""Old names of options, which are accepted with a warning."""

# --- training examples ---------------------------------------------------------------------------

NEG_POS_RATIO = Option(
    "Number of negatives to draw at random for each positive in training.",
    SAMPLE,
    Number(above=0.0, words=(None,)),
)
REDRAW = Option("Draw new negatives in each step.", SAMPLE, YesNo())
SEED = Option("Seed for the draw of negatives and of examples to hold out.", SAMPLE, Whole(0, 2**63 - 1))


# --- learners ------------------------------------------------------------------------------------

_IF_GIVEN = ("group", "choice", "rising", "falling")
"""Options that a model file has only if they are given."""


@dataclass(frozen=True, slots=True)
class EffectOptions(Options):
    """The options of ``rlr`` with the preset ``default``: effects with curves.

    >>> EffectOptions(n_bags=0)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: n_bags=0 is refused: it must be a whole number from 1 to 1000.
    """

    learner: ClassVar[str] = "rlr"
    preset: ClassVar[str | None] = DEFAULT
    summary: ClassVar[str] = "effects with curves, found along links"
    own_constants: ClassVar[bool] = True
    """whether single things of the target's own types may have weights"""

    n_steps: int | None = N_STEPS.default(None, bound=Whole(1, 1_000_000, words=(None,)))
    learning_rate: float = LEARNING_RATE.default(0.1)
    n_bags: int = N_BAGS.default(10)
    l2: float = L2.default(5.0)
    n_cuts: int | None = N_CUTS.default(None)
    max_links: int = MAX_LINKS.default(2)
    max_conditions: int = MAX_CONDITIONS.default(2)
    max_literals: int | None = MAX_LITERALS.default(None, bound=Whole(1, 20, words=(None,)))
    max_effects: int | str | None = MAX_EFFECTS.default(None)
    keep_gain: float = KEEP_GAIN.default(0.97)
    min_support: int | None = MIN_SUPPORT.default(None)
    per_constant: bool = PER_CONSTANT.default(True)
    validate: bool = VALIDATE.default(True)
    neg_pos_ratio: float | None = NEG_POS_RATIO.default(50.0)
    seed: int = SEED.default(0)
    prior: float | str = PRIOR.default(BASE_RATE)
    negation: bool = NEGATION.default(False)
    n_thresholds: int = N_THRESHOLDS.default(8)
    loss: str = LOSS.default(AUTO)
    group: str | None = GROUP.default(None)
    choice: str | None = CHOICE.default(None)
    rising: tuple[str, ...] = RISING.default(())
    falling: tuple[str, ...] = FALLING.default(())

    def settings(self) -> dict[str, object]:
        """The options by name; the model itself states the loss. Some options are there only if given."""
        left_out = {"loss"} | {name for name in _IF_GIVEN if not getattr(self, name)}
        named = {name: value for name, value in asdict(self).items() if name not in left_out}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in named.items()}


@dataclass(frozen=True, slots=True)
class PaperOptions(Options):
    """The options of ``rlr`` with the preset ``paper``: boosted clauses, as they were published.

    >>> PaperOptions(l2=0)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: l2=0 is refused: it must be a finite number above 0 and at most 1e+100.
    """

    learner: ClassVar[str] = "rlr"
    preset: ClassVar[str | None] = PAPER
    summary: ClassVar[str] = "boosted clauses with weights for true and false counts"

    n_steps: int = N_STEPS.default(10)
    l2: float = L2.default(1000.0)
    max_literals: int = MAX_LITERALS.default(4)
    beam_width: int = BEAM_WIDTH.default(1)
    stop: str = STOP.default("full")
    prior: float | str = PRIOR.default(0.0)
    neg_pos_ratio: float | None = NEG_POS_RATIO.default(None)
    seed: int = SEED.default(0)
    negation: bool = NEGATION.default(False)
    populations: str = POPULATIONS.default("database")
    n_thresholds: int = N_THRESHOLDS.default(16)
    false_counts: str = FALSE_GROUNDINGS.default(POPULATION)
    feature: str = FEATURE.default("count")
    refit: bool = REFIT.default(False)
    length_penalty: float = LENGTH_PENALTY.default(0.0)
    look_ahead: bool = LOOK_AHEAD.default(False)

    def settings(self) -> dict[str, object]:
        """The options by name, with three that are gone: model files stay the same byte for byte."""
        return asdict(self) | {"per_constant": False, "validate": False, "max_clauses": None}


@dataclass(frozen=True, slots=True)
class MLNOptions(Options):
    """The options of ``mln-boost``."""

    learner: ClassVar[str] = "mln-boost"
    summary: ClassVar[str] = "boosted clauses with one weight each"

    n_steps: int = N_STEPS.default(10)
    clauses_per_step: int = CLAUSES_PER_STEP.default(3)
    max_literals: int = MAX_LITERALS.default(4)
    beam_width: int = BEAM_WIDTH.default(10)
    stop: str = STOP.default("best")
    prior: float | str = PRIOR.default(0.0)
    neg_pos_ratio: float | None = NEG_POS_RATIO.default(2.0)
    seed: int = SEED.default(0)
    negation: bool = NEGATION.default(False)
    n_thresholds: int = N_THRESHOLDS.default(16)


@dataclass(frozen=True, slots=True)
class RDNOptions(Options):
    """The options of ``rdn-boost``."""

    learner: ClassVar[str] = "rdn-boost"
    summary: ClassVar[str] = "boosted relational regression trees"

    n_steps: int = N_STEPS.default(10)
    max_depth: int = MAX_DEPTH.default(3)
    max_leaves: int = MAX_LEAVES.default(8)
    min_examples: int = MIN_EXAMPLES.default(1)
    max_literals: int = MAX_LITERALS.default(2)
    beam_width: int = BEAM_WIDTH.default(10)
    prior: float | str = PRIOR.default(-1.8)
    neg_pos_ratio: float | None = NEG_POS_RATIO.default(2.0)
    redraw: bool = REDRAW.default(True)
    seed: int = SEED.default(0)
    negation: bool = NEGATION.default(False)
    n_thresholds: int = N_THRESHOLDS.default(16)


@dataclass(frozen=True, slots=True)
class ILPOptions(Options):
    """The options of ``ilp-rlr``."""

    learner: ClassVar[str] = "ilp-rlr"
    summary: ClassVar[str] = "clauses by inductive logic programming, then weights"

    max_literals: int = MAX_LITERALS.default(4)
    max_rounds: int = MAX_ROUNDS.default(2)
    max_recall: int = MAX_RECALL.default(10)
    max_bodies: int = MAX_BODIES.default(500)
    l2: float = L2.default(1.0)
    neg_pos_ratio: float | None = NEG_POS_RATIO.default(
        2.0, note="Only the search for clauses uses the sample; the weights are fitted to all examples."
    )
    seed: int = SEED.default(0)
    n_thresholds: int = N_THRESHOLDS.default(16)
    populations: str = POPULATIONS.default("training")


@dataclass(frozen=True, slots=True)
class AggOptions(Options):
    """The options of ``agg-lr``."""

    learner: ClassVar[str] = "agg-lr"
    summary: ClassVar[str] = "logistic regression on aggregates"

    max_literals: int = MAX_LITERALS.default(2, bound=Whole(1, 4))
    feature: str = FEATURE.default("log")
    l2: float = L2.default(1.0, note="The penalty is on the weights of standardised columns.")
    neg_pos_ratio: float | None = NEG_POS_RATIO.default(None)
    seed: int = SEED.default(0)


OPTIONS: Mapping[str, type[Options]] = MappingProxyType(
    {each.learner: each for each in (EffectOptions, MLNOptions, RDNOptions, ILPOptions, AggOptions)}
)
"""The class of options of each learner, by the learner's name; for ``rlr``, that of the default preset."""
