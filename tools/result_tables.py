"""Tables of the documentation, made from benchmarks/results/*.json and from the rows of the study."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
RUNS = ROOT / "docs" / "reproduction" / "runs.jsonl"
Table = Callable[[], str]


def table_named(name: str) -> str:
    """The Markdown table with this name, or a sentence that says that it was not measured yet."""
    try:
        return _TABLES[name]()
    except FileNotFoundError as missing:
        return f"*Not measured yet: there is no {Path(missing.filename).name}.*"


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """A Markdown table; columns after those of text are aligned to the right."""
    rule = "|" + "---|" * texts + "---:|" * (len(header) - texts)
    return "\n".join([_row(header), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _seconds(value: float) -> str:
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def _times(value: float) -> str:
    return f"{value:.1f}x" if value >= 10 else f"{value:.2f}x"


def _cpu(lines: Sequence[Mapping[str, Any]]) -> float:
    return mean(line["cpu"] for line in lines)


def machine() -> str:
    """One sentence on where the numbers come from."""
    found = _results("learning")["machine"]
    return (
        f"Measured on {found['cores']} cores ({found['processor']}), {found['memory_gb']} GB of memory, "
        f"{found['system']}, Python {found['python']}."
    )


def learning() -> str:
    """CPU of a whole fit next to the jars."""
    results = _results("learning")
    systems = list(dict.fromkeys(system for case in results["jars"].values() for system in case))
    rows = []
    for case, presets in results["hornbeam"].items():
        ours = _cpu(presets["default"])
        peak = max(line["peak"] for line in presets["default"])
        others = results["jars"].get(case, {})
        rows.append(
            [
                case,
                _seconds(ours),
                f"{peak / 1e6:.0f} MB",
                *(_other(others.get(system), ours) for system in systems),
            ]
        )
    return _table(["data", "hornbeam", "peak", *map(_on_two_lines, systems)], rows)


def fits() -> str:
    """CPU of default fits by one and by two processes, and of version 0.1."""
    rows = []
    cases = _results("versions")["cases"]
    for data, found in sorted(cases.items(), key=lambda case: case[1]["default"]["cpu"]):
        one, two, other = found["default"], found["two jobs"], found.get("other")
        cpu = [one["cpu"], two["cpu"], two["longest"]]
        before = "-" if other is None else _times(other["cpu"] / one["cpu"])
        rows.append([data, *map(_seconds, cpu), before, f"{one['peak'] / 1e6:.0f} MB"])
    return _table(["data", "CPU", "two jobs", "the longer one", "version 0.1", "peak"], rows)


def paper() -> str:
    """CPU of the preset `paper` beside BoostSRL."""
    folds = _results("paper")["folds"].values()
    theirs = mean(fold["program"] for fold in folds)
    ways = [way for way in next(iter(folds)) if way not in ("program", "outcome")]
    rows = []
    for way in ways:
        ours = mean(fold[way] for fold in folds)
        rows.append([way, _seconds(ours), _seconds(theirs), _times(theirs / ours)])
    return _table(["negatives", "preset `paper`", "BoostSRL MLN-Boost", "ratio"], rows)


def prediction() -> str:
    """Wall time of one predicted row."""
    ways = {"alone": "one row, alone", "busy": "one row, four threads"}
    found = _results("prediction")["times"]
    rows = [[name, *(f"{each * 1e3:.1f} ms" for each in found[way])] for way, name in ways.items()]
    return _table(["", "median", "99th percentile"], rows)


def _on_two_lines(system: str) -> str:
    return system.replace(" ", "<br>", 1)


def _other(lines: Sequence[Mapping[str, Any]] | None, ours: float) -> str:
    if not lines:
        return "-"
    failed = any(line["outcome"] != "done" for line in lines)
    return "failed" if failed else _times(_cpu(lines) / ours)


def counting() -> str:
    """CPU per count, next to SQL and to bare sparse products."""
    rows = [
        [
            f"{line['body']}<br>`{line['clause'].partition(':- ')[2].rstrip('.')}`",
            line["world"],
            _seconds(line["hornbeam"]["cpu"]),
            _times(line["hornbeam_over_scipy"]),
            _times(line["sql_over_hornbeam"]),
        ]
        for line in _results("counting")["bodies"]
    ]
    return _table(["body", "world", "hornbeam", "hornbeam / scipy", "SQL / hornbeam"], rows, texts=2)


def loading() -> str:
    """CPU of reading files."""
    rows = [
        [
            line["name"],
            f"{line['atoms']:,}",
            _seconds(line["cpu"]),
            _seconds(line["cpu"] / line["atoms"] * 1e6),
        ]
        for line in _results("loading")["loads"]
    ]
    return _table(["data", "facts and examples", "CPU", "per million"], rows)


def learning_against_jars() -> str:
    """CPU of learning of the jars, as multiples of ours, where both were run."""
    results = _results("learning")
    systems = list(dict.fromkeys(system for case in results["jars"].values() for system in case))
    rows = []
    for case, others in results["jars"].items():
        ours = _cpu(results["hornbeam"][case]["default"])
        rows.append([case, *(_other(others.get(system), ours) for system in systems)])
    return _table(["data", *map(_on_two_lines, systems)], rows)


_TASKS = {"UW-CSE": "uwcse", "WebKB": "webkb", "IMDB": "imdb"}
_METHODS = {"default": "rlr", "rdn-boost": "rdn-boost", "mln-boost": "mln-boost"}
_SCORES = ("auc_roc", "auc_pr", "log_loss")


def quality_against_jars() -> str:
    """Held-out scores of the jars, and of our learners in the study run anew, on the same folds."""
    runs = [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()]
    rows = []
    for data, task in _TASKS.items():
        lines = [(each["system"], each) for each in _results("others")["jars"] if each["data"] == data]
        for method, learner in _METHODS.items():
            scores = [run["scores"] for run in runs if (run["task"], run["method"]) == (task, method)]
            if scores:
                means = {name: mean(each[name] for each in scores) for name in _SCORES}
                lines.append((f"hornbeam `{learner}`", means))
        rows += [[data, system, *(f"{found[name]:.3f}" for name in _SCORES)] for system, found in lines]
    return _table(["data", "system", "AUC-ROC", "AUC-PR", "log-loss"], rows, texts=2)


FOLDS = 5
"""Folds of the data that others flatten."""


def flattening() -> str:
    """AUC-ROC and AUC-PR of flattened tables and what learns from them, with the CPU of both; and ours."""
    found = _results("others")["flattening"]
    ours = [_results("quality")["scores"][data]["default"]["0"] for data in found["data"]]
    rows = [
        [line["system"], *(_scores_and_cpu(*each) for each in zip(line["scores"], line["cpu"], strict=True))]
        for line in found["rows"]
    ]
    mine = [((each["auc_roc"][0], each["auc_pr"][0]), FOLDS * each["fit_cpu"]) for each in ours]
    rows.append(["**hornbeam**, default options", *(_scores_and_cpu(*each) for each in mine)])
    said = []
    for place, data in enumerate(found["data"]):
        others = [line["scores"][place][0] for line in found["rows"] if line["scores"][place]]
        above = sum(other > mine[place][0][0] for other in others)
        said.append(f"on {data} {above} of {len(others)} are above ours")
    table = _table(["AUC-ROC / AUC-PR (CPU)", *found["data"]], rows)
    return f"{table}\n\nBy AUC-ROC, {', '.join(said)}."


def beside_others() -> str:
    """AUC-ROC and AUC-PR of the default options, mean over seeds, beside the best of the other programs."""
    found = _results("others")["flattening"]
    rows = []
    for place, data in enumerate(found["data"]):
        seeds = _results("quality")["scores"][data]["default"].values()
        ours = [mean(seed[score][0] for seed in seeds) for score in ("auc_roc", "auc_pr")]
        others = {line["system"]: line["scores"][place] for line in found["rows"] if line["scores"][place]}
        best = max(others, key=lambda system: others[system][0])
        synthesis = next(scores for system, scores in others.items() if system.startswith("featuretools"))
        rows.append([data, _pair(ours), f"{_pair(others[best])}, {best}", _pair(synthesis)])
    header = ["data", "Hornbeam", "best of seven others by AUC-ROC", "featuretools and LightGBM"]
    return _table(header, rows, texts=4)


def _pair(scores: Sequence[float]) -> str:
    return " / ".join(f"{score:.3f}".removeprefix("0") for score in scores)


def _scores_and_cpu(scores: Sequence[float] | None, cpu: float) -> str:
    return "-" if scores is None else f"{scores[0]:.3f} / {scores[1]:.3f} ({cpu:.1f} s)"


def _scores_of_learners() -> dict[tuple[str, str], list[Mapping[str, float]]]:
    """The lines of each fold and seed, by data and learner."""
    scores: dict[tuple[str, str], list[Mapping[str, float]]] = {}
    for name, line in _results("baselines")["rows"].items():
        # "UW-CSE rdn-boost fold1 0": the data's name may hold blanks, the others may not.
        data, learner, _, _ = name.rsplit(" ", 3)
        scores.setdefault((data, learner), []).append(line)
    return scores


def learners() -> str:
    """Held-out quality of the learners that this package has beside its own."""
    scores = _scores_of_learners()
    rows = [
        [
            data,
            f"`{learner}`",
            *(f"{mean(line[score] for line in lines):.3f}" for score in ("auc_roc", "auc_pr", "log_loss")),
            _seconds(mean(line["fit_cpu"] for line in lines)),
        ]
        for (data, learner), lines in sorted(scores.items())
    ]
    return _table(["data", "learner", "AUC-ROC", "AUC-PR", "log-loss", "CPU of a fit"], rows, texts=2)


def quality() -> str:
    """The default learner long, short and cheap: held-out scores on all data."""
    results = _results("quality")
    data_sets = [data for data in results["order"]["data"] if data in results["scores"]]
    rows = [row for row in results["order"]["rows"] if not row.startswith("long,")]

    def cell(data: str, row: str) -> str:
        scores = results["scores"][data].get(row)
        return " / ".join(f"{scores['0'][score][0]:.3f}" for score in _SCORES) if scores else "-"

    return _table(["", *rows], [[data, *(cell(data, row) for row in rows)] for data in data_sets])


def power() -> str:
    """In how many worlds the planted feature is found, and the share of the possible gain."""
    results = _results("features")
    sizes = [str(size) for size in results["order"]["sizes"]]
    rows = []
    for name, sentence in results["order"]["features"].items():
        cells = []
        for lines in (results["lines"][name][size] for size in sizes):
            cells.append(f"{sum(line['found'] for line in lines)} of {len(lines)}")
            cells.append(f"{mean(line['gain'] for line in lines):.0%}")
        rows.append([f"{sentence} (`{name}`)", *cells])
    columns = [f"{what}, {int(size):,}" for size in sizes for what in ("found", "gain")]
    return _table(["planted", *columns], rows)


def start_up() -> str:
    """What it costs to start at all."""
    found = _results("learning")["start_up"]
    return "Start-up, CPU: " + ", ".join(f"`{name}` {_seconds(cpu)}" for name, cpu in found.items()) + "."


_TABLES: Mapping[str, Table] = {
    "machine": machine,
    "learning": learning,
    "fits": fits,
    "paper": paper,
    "prediction": prediction,
    "counting": counting,
    "loading": loading,
    "learners": learners,
    "quality": quality,
    "learning against jars": learning_against_jars,
    "quality against jars": quality_against_jars,
    "flattening": flattening,
    "beside others": beside_others,
    "start-up": start_up,
    "power": power,
}
