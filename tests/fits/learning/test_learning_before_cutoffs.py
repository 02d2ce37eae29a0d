"""Learning sees nothing at or after the last cut-off: without these rows, the model is the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.model.files import model_text

N_USERS, N_EVENTS, N_EXAMPLES = 40, 500, 150
DAY = pd.Timedelta(days=1)


def tables(dated: bool) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Events over 200 days, and examples with cut-offs in the second half."""
    rng = np.random.default_rng(5)
    users = [f"u{number}" for number in range(N_USERS)]
    at = rng.uniform(0, 200, N_EVENTS)
    events = pd.DataFrame(
        {
            "event_id": range(N_EVENTS),
            "user_id": rng.choice(users, N_EVENTS),
            "at": pd.Timestamp("2024-01-01") + at * DAY if dated else at,
            "paid": rng.normal(size=N_EVENTS).round(2),
            "kind": rng.choice(list("abcdef"), N_EVENTS),
        }
    )
    cutoffs = rng.integers(40, 200, N_EXAMPLES)
    examples = pd.DataFrame(
        {
            "user_id": rng.choice(users, N_EXAMPLES),
            "cutoff": pd.Timestamp("2024-01-01") + cutoffs * DAY if dated else cutoffs,
        }
    ).drop_duplicates()
    in_time = events.sort_values("at")
    before = [
        in_time[(in_time["user_id"] == user) & (in_time["at"] < cutoff)].tail(3)["paid"].mean() > 0
        for user, cutoff in examples.itertuples(index=False)
    ]
    return {"users": pd.DataFrame({"user_id": users}), "events": events}, examples.assign(label=before)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.DataWarning")
@pytest.mark.parametrize("dated", [True, False], ids=["dates", "numbers"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_rows_after_the_last_cut_off_have_no_part_in_a_fit(share: float, dated: bool) -> None:
    """Also not in the choice of windows, thresholds, and constants with weights of their own."""
    frames, examples = tables(dated)
    last = examples["cutoff"].sort_values().iloc[int(share * len(examples))]
    early = examples[examples["cutoff"] <= last]
    found = []
    for events in (frames["events"], frames["events"][frames["events"]["at"] < last]):
        database = hb.load(
            frames | {"events": events},
            target="good(users)",
            examples=early,
            schema={"events": {"time": "at", "key": "event_id"}},
        )
        model = hb.RLRClassifier(database=database, n_bags=2).fit(*database.examples()).model_
        found.append(model_text(model))
    assert found[0] == found[1]
