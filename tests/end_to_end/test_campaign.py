"""Some random worlds of tables give what an oracle of plain Python says (``make campaign`` tries many)."""

import sys
from pathlib import Path

import pytest

RELIABILITY = Path(__file__).resolve().parents[2] / "reliability"
WORLDS = range(70)
"""Ten for each loss, and ten with classes, in every system that is here; less than a minute."""


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(RELIABILITY))
    import campaign

    yield campaign
    for name in ("campaign", "oracle", "random_worlds", "results", "systems"):
        sys.modules.pop(name, None)


def test_the_oracle_knows_every_kind_of_feature_and_every_loss(campaign) -> None:  # type: ignore[no-untyped-def]
    assert campaign.unknown_kinds() == []
    assert len(WORLDS) >= len(campaign.FLAVOURS)


def test_worlds_are_as_the_oracle_says(campaign) -> None:  # type: ignore[no-untyped-def]
    found, faults = campaign.campaign(WORLDS, 1200, print)
    assert faults == []
    assert found["worlds"] == len(WORLDS)
    compared = found["compared"]
    assert {f"kind {kind}" for kind in campaign.kinds.KINDS} <= {*compared}
    assert {f"loss {loss}" for loss in campaign.FLAVOURS} <= {*compared}
    assert (
        min(compared[each] for each in ("values", "transform", "counts", "values of SQL", "rows of SQL"))
        > 1000
    )


def test_a_wrong_number_is_a_fault(campaign, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(
        campaign.oracle, "KINDS", {kind: lambda asked: 0.125 for kind in campaign.oracle.KINDS}
    )
    assert {"values", "transform"} <= {*campaign.tried(0).compared}
    assert campaign.tried(0).faults
