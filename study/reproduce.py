"""The whole study: carry out the runs that have no row yet, then write the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hornbeam.datasets.archive import get
from hornbeam.datasets.download import OnProgress
from hornbeam.datasets.places import find
from hornbeam.errors import DataError, OptionError, Place, did_you_mean
from study.one_run import fingerprint
from study.populations import kept_study, read_study
from study.protocol import METHODS, TRUTH, Run, Study, selected
from study.report.write import write_report
from study.results import Results, collected
from study.row_file import appending, matched, read_rows
from study.workers import rows_of

RUNS, POPULATIONS = "runs.jsonl", "populations.jsonl"
OnRow = Callable[[int, int, dict[str, Any]], None]
"""Called after each run with the number of runs done, the number of all runs, and the row."""


def reproduce(
    study: Study,
    out: Path,
    *,
    jobs: int = 2,
    methods: Sequence[str] = (),
    tasks: Sequence[str] = (),
    again: bool = False,
    on_row: OnRow | None = None,
) -> Results:
    """Carry out the runs that have no row yet, in ``jobs`` processes, and write the report of all rows.

    Each row is written to ``runs.jsonl`` in the folder as soon as its run ends, so a study that was
    interrupted continues where it stopped. ``methods`` and ``tasks`` limit what is run, not what is
    reported; with ``again``, runs that have a row are repeated, and the new row replaces the old one.
    """
    if jobs < 1:
        raise OptionError(f"jobs={jobs} is refused: it must be a whole number of at least 1.")
    _check_names(study, methods, tasks)
    _make(out)
    with appending(out / RUNS) as file:
        waiting = _waiting(study, out, methods, tasks, again)
        _have_data(study, waiting, None)
        pairs = [(study.task(run.task), run) for run in waiting]
        for number, row in enumerate(rows_of(pairs, jobs), start=1):
            file.append(row)
            if on_row is not None:
                on_row(number, len(waiting), row)
    kept_study(out / POPULATIONS, study.population, fingerprint(), again)
    return report(study, out)


def fetch_data(
    study: Study,
    out: Path,
    methods: Sequence[str] = (),
    tasks: Sequence[str] = (),
    again: bool = False,
    on_download: OnProgress | None = None,
) -> None:
    """Download the data sets that ``reproduce`` with the same arguments needs, if they are not here."""
    _check_names(study, methods, tasks)
    _have_data(study, _waiting(study, out, methods, tasks, again), on_download)


def _waiting(study: Study, out: Path, methods: Sequence[str], tasks: Sequence[str], again: bool) -> list[Run]:
    """The runs that have no row yet."""
    every = selected(study.runs(), methods, tasks)
    there = {} if again else matched(every, read_rows(out / RUNS))
    return [run for place, run in enumerate(every) if place not in there]


def report(study: Study, out: Path) -> Results:
    """Write the report of the rows in the folder, without running anything."""
    _make(out)
    results = collected(study, read_rows(out / RUNS))
    write_report(results, read_study(out / POPULATIONS), out)
    return results


def _check_names(study: Study, methods: Sequence[str], tasks: Sequence[str]) -> None:
    _known(methods, [*METHODS, TRUTH], "method")
    _known(tasks, [task.name for task in study.tasks], "task")


def _known(names: Sequence[str], known: Sequence[str], kind: str) -> None:
    for name in names:
        if name not in known:
            raise OptionError(f'no {kind} "{name}". {did_you_mean(name, known, f"{kind.title()}s")}')


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"the folder cannot be created ({error.strerror}); name another one.", Place(str(out))
        ) from error


def _have_data(study: Study, runs: Sequence[Run], on_download: OnProgress | None) -> None:
    """Download the data sets that the runs need, before the first run."""
    for name in dict.fromkeys(run.task for run in runs):
        data = study.task(name).data
        if data.folder and find(data) is None:
            get(data, on_download)
