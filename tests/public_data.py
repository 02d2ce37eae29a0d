"""Where the public data sets are that some tests read; without them those tests are skipped, and say so."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("HORNBEAM_DATA") or Path(__file__).parents[2] / "shared" / "data")


def needs(folder: str = "") -> pytest.MarkDecorator:
    """A test that reads the data, or one folder of them."""
    place = DATA / folder
    return pytest.mark.skipif(not place.is_dir(), reason=f"no public data at {place}: set HORNBEAM_DATA")
