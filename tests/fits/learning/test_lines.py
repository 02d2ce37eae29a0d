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
from hornbeam.learning.effects.lines import LineData, fitted_lines, share_of_lines, simple_candidates
from hornbeam.learning.effects.long_model import LongModel
from hornbeam.learning.losses.loss import Logistic, Loss
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison
from hornbeam.logic.effects import Body, Equals, Feature, Recent
from hornbeam.logic.features import COUNT, MEAN, MINIMUM, MONTH, SHARE
from hornbeam.model.files import model_text

LINK, COLUMN = Atom("had", (1, 0)), Atom("paid", (1, 2))
BODIES: list[tuple[str, Body, bool]] = [
    (MEAN, (LINK, COLUMN), True),
    (COUNT, (LINK,), True),
    (MEAN, (Recent(LINK, last=3), COLUMN), True),
    (MINIMUM, (LINK, COLUMN), False),
    (SHARE, (LINK, COLUMN), False),
    (COUNT, (LINK, Equals(1, "x")), False),
    (MEAN, (COLUMN, Comparison(2, AT_LEAST, 1.0)), False),
    (MEAN, (LINK, Atom("of", (1, 3)), Atom("size", (3, 2))), False),
    (COUNT, (LINK, Atom("of", (1, 3))), False),
    (COUNT, (LINK, Atom("vip", (1,))), False),
    (MONTH, (), True),
]


def candidate(kind: str, body: Body) -> FeatureCandidate:
    feature = Feature(kind, None if kind in (COUNT, MONTH, SHARE) else 2)
    return FeatureCandidate(FeatureRequest(Atom("bad", (0,)), body, feature), (1.0,), (0.0, -1.0, 1.0))


def test_simple_candidates_have_no_conditions_and_one_link_at_most(monkeypatch) -> None:
    candidates = [candidate(kind, body) for kind, body, _ in BODIES]
    simple = [number for number, (_, _, wanted) in enumerate(BODIES) if wanted]
    assert simple_candidates(candidates) == simple
    monkeypatch.setattr(module, "MOST", 2)
    assert simple_candidates(candidates) == simple[:2]


def example_data(loss: Loss, examples: int = 400, missing: float = 0.2) -> tuple[LineData, np.ndarray]:
    """Six candidates with missing values, of which three say something, and the scores by the truth."""
    rng = np.random.default_rng(3)
    bins = rng.integers(1, 5, (6, examples)).astype(np.uint8)
    bins[:3][rng.random((3, examples)) < missing] = 0
    scores = np.tile([0.0, -1.5, -0.5, 0.5, 1.5], (6, 1))
    truth = scores[0][bins[0]] - 0.7 * scores[3][bins[3]] + 0.5 * (bins[1] == 0)
    noise = rng.logistic(size=examples)
    targets = (truth + noise > 0).astype(float) if loss.name == "logistic" else truth + 0.3 * noise
    offset = rng.normal(scale=0.2, size=examples)
    return LineData(bins, scores, targets, offset, np.ones(examples), loss), truth


def columns_by_hand(data: LineData) -> np.ndarray:
    """The scores of all candidates, then what is missing of each of the first three."""
    of_lines = [data.scores[place][row] for place, row in enumerate(data.bins)]
    return np.column_stack([*of_lines, *(row == 0 for row in data.bins[:3])]).astype(float)


def scores_by(data: LineData, curve: dict[int, np.ndarray], intercept: float) -> np.ndarray:
    return intercept + sum(levels[data.bins[place]] for place, levels in curve.items())


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
    lines = fitted_lines(data, range(6), *halves(data))
    assert lines is not None
    columns = columns_by_hand(data)
    for model, rows in enumerate((slice(0, 300), slice(0, 400))):
        other = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000)
        other.fit(columns[rows], data.targets[rows])
        ours = scores_by(data, lines.curves[model], lines.intercepts[model])
        assert ours == pytest.approx(other.decision_function(columns), abs=2e-3)


def test_the_lines_of_numbers_are_a_ridge_regression_of_what_the_offset_leaves(monkeypatch) -> None:
    monkeypatch.setattr(module, "PENALTIES", (10.0,))
    data, _ = example_data(Squared())
    lines = fitted_lines(data, range(6), *halves(data))
    assert lines is not None
    columns = columns_by_hand(data)
    other = Ridge(10.0).fit(columns, data.targets - data.offset)
    assert scores_by(data, lines.curves[1], lines.intercepts[1]) == pytest.approx(
        other.predict(columns), abs=1e-3
    )


def test_judged_examples_choose_the_penalty() -> None:
    """If targets are noise, slopes are held close to 0; if not, they are not."""
    data, truth = example_data(Logistic(), missing=0.0)
    noise = data._replace(targets=np.random.default_rng(0).integers(0, 2, 400).astype(float))
    spreads = []
    for each in (data, noise):
        lines = fitted_lines(each, range(6), *halves(each))
        assert lines is not None
        spreads.append(scores_by(each, lines.curves[1], 0.0).std())
    assert spreads[0] > 0.7 * truth.std() > 5 * spreads[1]


def test_candidates_with_one_bin_have_no_lines() -> None:
    data, _ = example_data(Logistic())
    data.bins[:] = 1
    assert fitted_lines(data, range(6), *halves(data)) is None


def test_a_sample_of_many_examples_gives_nearly_the_same_lines(monkeypatch) -> None:
    data, truth = example_data(Logistic(), 6000, missing=0.0)
    whole = fitted_lines(data, range(6), *halves(data))
    monkeypatch.setattr(module, "ENOUGH_EXAMPLES", 1500)
    sampled = fitted_lines(data, range(6), *halves(data))
    assert whole is not None and sampled is not None
    ours, all_ = (scores_by(data, each.curves[1], 0.0) for each in (sampled, whole))
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
    assert share(noise[0], truth) == 0.75
    assert share(truth + 2 * noise[0], truth + 2 * noise[1]) == 0.5
    assert share(truth, truth) == 0.0, "a share must gain something"


def test_the_share_of_lines_counts_examples_not_groups_of_equal_ones() -> None:
    rng = np.random.default_rng(4)
    targets, steps = rng.integers(0, 2, 50).astype(float), rng.normal(size=(50, 1))
    is_good = np.arange(50) < 35
    lines = np.where(is_good, 3.0, -1.0)[:, None] * (2 * targets[:, None] - 1)
    sizes = np.where(is_good, 1, 40)
    each = np.repeat(np.arange(50), sizes)
    grouped = share_of_lines(Logistic(), targets, sizes[:, None].astype(float), (steps, lines))
    single = share_of_lines(Logistic(), targets[each], np.ones((len(each), 1)), (steps[each], lines[each]))
    assert grouped == single
    assert share_of_lines(Logistic(), targets, np.ones((50, 1)), (steps, lines)) > grouped


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
        shares.append(0.0 if self.lines is None else self.lines[0])

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
