"""Commands as tests run them: in this process, for all that they print."""

import csv
import io
from collections.abc import Callable
from typing import NamedTuple

import pytest

from hornbeam.cli import main


class Ran(NamedTuple):
    """What a command left: exit status, stdout, stderr."""

    status: object
    out: str
    err: str

    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.out)))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*words: object) -> Ran:
        with pytest.raises(SystemExit) as left:
            main(list(map(str, words)))
        captured = capsys.readouterr()
        return Ran(left.value.code, captured.out, captured.err)

    return run
