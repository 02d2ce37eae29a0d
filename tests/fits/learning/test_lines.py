"""Lines beside steps: their weights against scikit-learn's, their penalty, their share, where they help."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import hornbeam as hb
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.learning.effects import lines as module
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.effects.lines import (
    LineData,
    LineEnds,
    LineValues,
    fitted_lines,
    limits_of,
    share_of_lines,
    simple_candidates,
    standardised,
)
from hornbeam.learning.effects.long_model import LongModel
from hornbeam.learning.effects.shortening import Idea, Long, Wanted, shortened
from hornbeam.learning.losses.loss import Logistic, Loss
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison
from hornbeam.logic.effects import Body, Equals, Feature, Recent
from hornbeam.logic.features import COUNT, MEAN, MINIMUM, MONTH, SHARE
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.model.files import model_text, parse_model

LINK, COLUMN = Atom("had", (1, 0)), Atom("paid", (1, 2))
COLOUR = Atom("colour", (0, 2))
BODIES: list[tuple[str, Body, bool]] = [
    (MEAN, (LINK, COLUMN), True),
    (COUNT, (LINK,), True),
    (MEAN, (Recent(LINK, last=3), COLUMN), True),
    (MINIMUM, (LINK, COLUMN), False),
    (SHARE, (LINK, COLUMN, Comparison(2, AT_LEAST, 1.0)), True),
    (COUNT, (LINK, Equals(1, "x")), True),
    (COUNT, (COLOUR, Equals(2, "red")), True),
    (COUNT, (COLOUR, Equals(2, "red"), Atom("vip", (0,))), False),
    (MEAN, (COLUMN, Comparison(2, AT_LEAST, 1.0)), False),
    (MEAN, (LINK, Atom("of", (1, 3)), Atom("size", (3, 2))), False),
    (COUNT, (LINK, Atom("of", (1, 3))), False),
    (COUNT, (LINK, Atom("vip", (1,))), True),
    (MONTH, (), True),
]
TYPES = {
    "bad": ("person",), "had": ("person", "person"), "paid": ("person", "paid_value"),
    "of": ("person", "shop"), "size": ("shop", "paid_value"), "vip": ("person",),
    "colour": ("person", "colour"),
}  # fmt: skip
SCHEMA = Schema(TYPES, {"paid_value": NUMBER})


def candidate(kind: str, body: Body) -> FeatureCandidate:
    feature = Feature(kind, None if kind in (COUNT, MONTH, SHARE) else 2)
    return FeatureCandidate(FeatureRequest(Atom("bad", (0,)), body, feature), (1.0,), (0.0, -1.0, 1.0))


def test_simple_candidates_have_one_condition_and_one_link_at_most(monkeypatch) -> None:
    candidates = [candidate(kind, body) for kind, body, _ in BODIES]
    simple = [number for number, (_, _, wanted) in enumerate(BODIES) if wanted]
    assert sorted(simple_candidates(candidates, SCHEMA)) == simple
    assert simple_candidates(candidates, SCHEMA)[:4] == [0, 1, 2, 12], "those without conditions come first"
    monkeypatch.setattr(module, "MOST", 2)
    assert simple_candidates(candidates, SCHEMA) == simple[:2]


def test_dates_have_no_lines() -> None:
    dated = Schema(TYPES, {"paid_value": DATE})
    assert simple_candidates([candidate(MEAN, (LINK, COLUMN)), candidate(COUNT, (LINK,))], dated) == [1]


def test_a_line_ends_one_range_beyond_the_middle_values() -> None:
    values = np.array([*range(1000), 1e6, -1e6, np.nan])
    limits = limits_of(values)
    assert limits is not None and (limits.low, limits.high) == (-972.0, 1971.0)
    column = standardised(values, limits)
    assert column[-1] == 0.0 and column[:-1].mean() == pytest.approx(0.0, abs=1e-6)
    assert column[:-1].std() == pytest.approx(1.0, abs=1e-6)
    assert column[1000] == pytest.approx((1971.0 - limits.mean) / limits.deviation)
    assert limits_of(np.array([1.0, 1.0, np.nan])) is None
    assert limits_of(np.array([0.0, 1.0, 1e300])) is None, "a sentinel is no value of a line"
    flag = limits_of(np.array([0.0, 1.0, 1.0]))
    assert flag is not None and flag.is_flag


def example_data(loss: Loss, examples: int = 400, missing: float = 0.2) -> tuple[LineData, np.ndarray]:
    """Six candidates with missing values, of which three say something, and the scores by the truth."""
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(6, examples)).round(9)
    unknown = np.zeros((6, examples), dtype=bool)
    unknown[:3] = rng.random((3, examples)) < missing
    columns[unknown] = 0.0
    values = LineValues([10, 11, 12, 13, 14, 15], columns, unknown, [LineEnds(-9.0, 9.0, 0.0, 1.0)] * 6)
    truth = 1.2 * columns[0] - 0.9 * columns[3] + 0.5 * unknown[1]
    noise = rng.logistic(size=examples)
    targets = (truth + noise > 0).astype(float) if loss.name == "logistic" else truth + 0.3 * noise
    offset = rng.normal(scale=0.2, size=examples)
    return LineData(values, targets, offset, np.ones(examples), loss), truth


def columns_by_hand(data: LineData) -> np.ndarray:
    """The values of all candidates, then what is missing of each of the first three."""
    return np.column_stack([*data.values.columns, *data.values.missing[:3]]).astype(float)


def halves(data: LineData) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a model of the first examples, which the others judge, and of one of all."""
    first = np.arange(len(data.targets)) < 300
    inside = np.column_stack([first, np.ones_like(first)]).astype(float)
    return inside, np.column_stack([~first, np.zeros_like(first)]).astype(float)


@pytest.mark.parametrize("penalty", [3.0, 100.0])
def test_the_lines_are_those_of_scikit_learn(monkeypatch, penalty: float) -> None:
    monkeypatch.setattr(module, "PENALTIES", (penalty,))
    data, _ = example_data(Logistic())
    data = data._replace(offset=np.zeros(400))
    lines = fitted_lines(data, *halves(data))
    assert lines is not None
    columns = columns_by_hand(data)
    for model, rows in enumerate((slice(0, 300), slice(0, 400))):
        other = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000)
        other.fit(columns[rows], data.targets[rows])
        ours = lines.scores(data.values)[:, model]
        assert ours == pytest.approx(other.decision_function(columns), abs=2e-3)


def test_the_lines_of_numbers_are_a_ridge_regression_of_what_the_offset_leaves(monkeypatch) -> None:
    monkeypatch.setattr(module, "PENALTIES", (10.0,))
    data, _ = example_data(Squared())
    lines = fitted_lines(data, *halves(data))
    assert lines is not None
    columns = columns_by_hand(data)
    other = Ridge(10.0).fit(columns, data.targets - data.offset)
    assert lines.scores(data.values)[:, 1] == pytest.approx(other.predict(columns), abs=1e-3)


def test_the_curves_of_lines_add_what_the_lines_do() -> None:
    data, _ = example_data(Squared())
    values = data.values._replace(
        limits=[LineEnds(-1.0, 2.0, 0.5, 1.5, is_flag=True), *data.values.limits[1:]]
    )
    values.columns[0] = np.where(values.missing[0], 0.0, np.where(values.columns[0] > 0, 1.0, -1.0))
    bins = np.where(values.columns > 0, 2, 1) * ~values.missing
    lines = fitted_lines(data._replace(values=values), *halves(data))
    assert lines is not None
    scores = np.full(400, lines.intercepts[1])
    for candidate_, row in lines.curves(1, values, 4).items():
        place = values.of(candidate_)
        assert place is not None and (row[-1] == 0) == (place == 0), "a flag has steps"
        scores += row[bins[place]] + row[-1] * values.columns[place]
    assert scores == pytest.approx(lines.scores(values)[:, 1])


def test_judged_examples_choose_the_penalty() -> None:
    """If targets are noise, slopes are held close to 0; if not, they are not."""
    data, truth = example_data(Logistic(), missing=0.0)
    noise = data._replace(targets=np.random.default_rng(0).integers(0, 2, 400).astype(float))
    spreads = []
    for each in (data, noise):
        lines = fitted_lines(each, *halves(each))
        assert lines is not None
        spreads.append(lines.scores(each.values)[:, 1].std())
    assert spreads[0] > 0.7 * truth.std() > 3 * spreads[1]


def test_without_values_there_are_no_lines() -> None:
    data, _ = example_data(Logistic())
    empty = LineValues([], np.empty((0, 400)), np.empty((0, 400), dtype=bool), [])
    assert fitted_lines(data._replace(values=empty), *halves(data)) is None


def test_a_sample_of_many_examples_gives_nearly_the_same_lines(monkeypatch) -> None:
    data, truth = example_data(Logistic(), 6000, missing=0.0)
    monkeypatch.setattr(module, "ENOUGH_EXAMPLES", 6000)
    whole = fitted_lines(data, *halves(data))
    monkeypatch.setattr(module, "ENOUGH_EXAMPLES", 1500)
    sampled = fitted_lines(data, *halves(data))
    assert whole is not None and sampled is not None
    ours, all_ = (each.scores(data.values)[:, 1] for each in (sampled, whole))
    assert not np.array_equal(ours, all_)
    assert np.corrcoef(ours, all_)[0, 1] > 0.98 and np.corrcoef(ours, truth)[0, 1] > 0.95


def test_the_share_of_lines_is_what_judged_examples_say() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(scale=2.0, size=600)
    targets = (rng.random(600) < 1 / (1 + np.exp(-truth))).astype(float)
    noise = rng.normal(size=(2, 600))
    judged = np.column_stack([np.arange(600) < 300, np.arange(600) >= 300]).astype(float)

    def share(steps: np.ndarray, lines: np.ndarray) -> float:
        both = (np.column_stack([each, each]) for each in (steps, lines))
        return share_of_lines(Logistic(), targets, judged, tuple(both))

    assert share(truth, noise[0]) == 0.0
    assert share(noise[0], truth) == 1.0
    assert share(truth + 2 * noise[0], truth + 2 * noise[1]) == 0.5
    assert share(truth, truth) == 0.0, "a share must gain something"


def test_examples_are_scored_by_the_average_of_the_models_that_they_judge() -> None:
    """Lines that only calm down single models gain nothing beside the average of the models."""
    rng = np.random.default_rng(4)
    truth = rng.normal(scale=2.0, size=600)
    targets = (rng.random(600) < 1 / (1 + np.exp(-truth))).astype(float)
    shaken = rng.normal(scale=2.0, size=600)
    steps = np.column_stack([truth + shaken, truth - shaken])
    lines = np.column_stack([truth, truth])
    first = np.column_stack([np.arange(600) < 300, np.arange(600) >= 300]).astype(float)
    assert share_of_lines(Logistic(), targets, first, (steps, lines)) > 0.0
    assert share_of_lines(Logistic(), targets, np.ones((600, 2)), (steps, lines)) == 0.0


def test_the_share_of_lines_counts_weights_of_examples() -> None:
    rng = np.random.default_rng(4)
    targets, steps = rng.integers(0, 2, 50).astype(float), rng.normal(size=(50, 1))
    is_good = np.arange(50) < 35
    lines = np.where(is_good, 3.0, -1.0)[:, None] * (2 * targets[:, None] - 1)
    sizes = np.where(is_good, 1, 40)
    each = np.repeat(np.arange(50), sizes)
    weighted = share_of_lines(Logistic(), targets, sizes[:, None].astype(float), (steps, lines))
    single = share_of_lines(Logistic(), targets[each], np.ones((len(each), 1)), (steps[each], lines[each]))
    assert weighted == single
    assert share_of_lines(Logistic(), targets, np.ones((50, 1)), (steps, lines)) > weighted


N_COLUMNS, N_THINGS, N_MONTHS = 24, 30, 40


def many_columns(effect: float) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Events with many numbers, of which each says a little about the next month of their thing."""
    rng = np.random.default_rng(8)
    months = pd.date_range("2020-01-01", periods=N_MONTHS, freq="MS")
    rows = [(f"t{thing}", month) for month in months for thing in range(N_THINGS)]
    numbers = rng.normal(size=(len(rows), N_COLUMNS))
    events = pd.DataFrame(numbers.round(3), columns=[f"n{each}" for each in range(N_COLUMNS)])
    events = events.assign(
        event_id=range(len(rows)),
        thing_id=[thing for thing, _ in rows],
        at=[month + pd.Timedelta(days=3) for _, month in rows],
    )
    chance = 1 / (1 + np.exp(-effect * numbers.sum(axis=1)))
    examples = pd.DataFrame(
        {
            "thing_id": events["thing_id"],
            "cutoff": [month + pd.Timedelta(days=20) for _, month in rows],
            "label": rng.random(len(rows)) < chance,
        }
    )
    return {"things": pd.DataFrame({"thing_id": sorted(set(events["thing_id"]))}), "events": events}, examples


def fitted(frames: dict[str, pd.DataFrame], examples: pd.DataFrame, monkeypatch, **options: object):
    """The fit of a world, and the share of lines."""
    shares = []
    add = LongModel.add_lines

    def noted(self: LongModel) -> None:
        add(self)
        shares.append(0.0 if self.lines is None else self.lines.share)

    monkeypatch.setattr(LongModel, "add_lines", noted)
    database = hb.load(
        frames,
        target="good(things)",
        examples=examples,
        schema={"events": {"time": "at", "key": "event_id"}},
    )
    own = database.examples_of("good")
    result = fit(MemoryEngine(database), own, EffectOptions(n_bags=2, **options))
    monkeypatch.setattr(LongModel, "add_lines", add)
    return result, shares


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
def test_lines_help_where_many_numbers_say_a_little(monkeypatch) -> None:
    frames, examples = many_columns(0.25)
    result, shares = fitted(frames, examples, monkeypatch)
    assert shares[0] >= 0.25
    monkeypatch.setattr(LongModel, "add_lines", lambda self: None)
    alone, _ = fitted(frames, examples, monkeypatch)
    losses = [each.model.settings["held_out_loss"] for each in (result, alone)]
    assert losses[0] < losses[1] - 0.005
    assert result.history.score.startswith("later examples: log-loss")


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
def test_noise_has_no_lines(monkeypatch) -> None:
    result, shares = fitted(*many_columns(0.0), monkeypatch)
    assert shares == [0.0]
    assert sum(each.importance for each in result.model.effects) < 0.1


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
def test_models_with_lines_do_not_depend_on_the_number_of_threads(monkeypatch) -> None:
    from threadpoolctl import threadpool_limits

    frames, examples = many_columns(0.25)
    texts = []
    for number in (1, 2):
        with threadpool_limits(number, user_api="blas"):
            texts.append(model_text(fitted(frames, examples, monkeypatch)[0].model))
    assert texts[0] == texts[1]


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
def test_without_held_out_examples_there_are_no_lines(monkeypatch) -> None:
    _, shares = fitted(*many_columns(0.25), monkeypatch, validate=False, n_steps=10)
    assert shares == [0.0]


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
def test_a_model_takes_half_as_many_steps_again_as_its_judges(monkeypatch) -> None:
    made: list[LongModel] = []
    prepare = LongModel.__init__

    def noted(self: LongModel, *arguments: object) -> None:
        prepare(self, *arguments)
        made.append(self)

    monkeypatch.setattr(LongModel, "__init__", noted)
    result, _ = fitted(*many_columns(0.25), monkeypatch)
    losses = made[0].bags.mean_losses
    best = int(np.argmin(losses))
    assert result.model.settings["steps"] == min(best * 3 // 2, len(losses) - 1) > best > 0
    losses[best + 1 :] = [losses[0]] * len(losses[best + 1 :])
    assert made[0].steps == best, "more steps that are no better than none are not taken"


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
def test_a_sum_is_one_effect() -> None:
    """The total of an invoice is the sum of its lines: one straight line says so, and says where it ends."""
    rng = np.random.default_rng(5)
    invoices = [f"i{number}" for number in range(300)]
    owner = np.repeat(invoices, rng.integers(1, 9, 300))
    lines = pd.DataFrame({"line": range(len(owner)), "invoice": owner})
    lines["price"] = rng.choice([0.99, 1.99, 4.5], len(lines))
    totals = lines.groupby("invoice").price.sum().reindex(invoices)
    frames = {"invoices": pd.DataFrame({"invoice": invoices, "total": totals.to_numpy()}), "lines": lines}
    database = hb.load(frames, target="invoices.total")
    fit_ = fit(MemoryEngine(database), database.examples_of(database.target_named(None)).labelled())
    (effect,) = fit_.model.effects
    curve = effect.effect.curve
    assert (str(effect.effect.feature), curve.cuts) == ("sum C", ())
    assert curve.slope == pytest.approx(1.0, abs=0.05)
    assert (curve.low, curve.high) == (pytest.approx(totals.min()), pytest.approx(totals.max()))
    assert effect.centre == pytest.approx(totals.mean())
    keys = database.examples_of(database.target_named(None)).keys
    predicted = fit_.model.scores(MemoryEngine(database), keys)
    names = database.names_of("total", keys)[:, 0]
    left = totals.loc[names].to_numpy() - predicted
    assert 1 - left.var() / totals.var() > 0.997
    assert "each 1 more adds" in fit_.model.words()
    assert model_text(parse_model(model_text(fit_.model))) == model_text(fit_.model)
    assert str(parse_effect(str(effect), database.schema)) == str(effect)
    flat, straight, off = (fit_.model.edited(f"{edit} 1") for edit in ("flatten", "straighten", "off"))
    engine = MemoryEngine(database)
    assert straight.effects[0].effect == effect.effect
    assert flat.scores(engine, keys) == pytest.approx(predicted.mean(), abs=1e-3)
    assert off.scores(engine, keys) == pytest.approx(predicted.mean(), abs=1e-3)


def test_near_copies_are_one_idea() -> None:
    """Of windows that say nearly the same about one path, the short model has the simplest."""
    rng = np.random.default_rng(0)
    true, other = rng.normal(size=(2, 2000))
    values = [true + 0.05 * rng.normal(size=2000), true, true + 0.05 * rng.normal(size=2000), other]
    bins = np.array([1 + np.digitize(each, np.linspace(-2, 2, 15)) for each in values]).astype(np.uint8)
    levels = np.zeros((4, 18))
    levels[:, 1:-1] = np.linspace(-1, 1, 16)
    path, elsewhere = frozenset({"had", "points"}), frozenset({"had", "grid"})
    ideas = [Idea(path, 0, 4), Idea(path, 0, 3), Idea(path, 0, 2), Idea(elsewhere, 0, 3)]
    scores = levels[:, bins].diagonal(axis1=0, axis2=1).sum(axis=1)
    weights, judged = np.ones((2000, 2)), np.column_stack([np.arange(2000) % 2 == 0, np.zeros(2000)])
    long = Long(
        bins, np.column_stack([scores, scores]), weights, judged.astype(float)[:, :1],
        [levels, levels], np.zeros(2000), ideas, np.zeros(4), [17] * 4,
    )  # fmt: skip
    short = shortened(long, scores, Squared(), Wanted(1.0, 1.0, 4))
    assert set(short.chosen) == {2, 3}
    apart = [idea._replace(predicates=frozenset({str(number)})) for number, idea in enumerate(ideas)]
    separate = long._replace(ideas=apart)
    assert set(shortened(separate, scores, Squared(), Wanted(1.0, 1.0, 4)).chosen) == {0, 1, 2, 3}
