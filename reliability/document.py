"""Write the figures of ``docs/reliability.md`` from the records: ``python reliability/document.py``.

The text between ``<!-- NAME -->`` and ``<!-- /NAME -->`` is replaced. With ``--check`` nothing is written;
a page that differs from the records is an error.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results import ROOT, recorded

PAGE = ROOT / "docs" / "reliability.md"
NOT_YET = "Not measured yet."
WITH_EVERY_CHANGE = "with every change"
REASONS: dict[str, str] = json.loads((Path(__file__).parent / "survivors.json").read_text(encoding="utf-8"))
"""For mutants that were not noticed: why they change nothing, or which test would notice them."""


def main() -> None:
    before = PAGE.read_text(encoding="utf-8")
    after = written(before)
    if "--check" in sys.argv:
        sys.exit(0 if after == before else f"{PAGE.name} differs from the records: run make reliability")
    PAGE.write_text(after, encoding="utf-8")


def written(page: str) -> str:
    """The page with every block written from the records."""
    for name, block in BLOCKS.items():
        found: dict[str, Any] = recorded(name)
        text = block(found) if found or block is _promises else NOT_YET
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        page, times = re.subn(
            pattern, lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page, flags=re.S
        )
        assert times == 1, name
    return page


def _promises(_: dict[str, Any]) -> str:
    """What is promised, how it was tried, and how often."""
    kills, law, soak = recorded("kills"), recorded("law_of_the_future"), recorded("soak")
    blocks, fuzzing = recorded("campaign").get("blocks", []), recorded("fuzzing")
    compared = sum((_comparisons(each) for each in blocks), Counter[str]())
    rows = [
        (
            "a model, its predictions and its SQL say what the definitions say",
            "an oracle of plain Python on random tables",
            f"{sum(each['worlds'] for each in blocks):,} worlds, {compared.total():,} numbers, "
            f"{sum(each['worlds_with_faults'] for each in blocks):,} of the worlds with a fault, mended",
        ),
        (
            "what comes after a cut-off changes nothing",
            "random tables with another future, and the same bytes asked for",
            f"{law.get('worlds', 0):,} worlds, {law.get('faults', 0):,} broke the law",
        ),
        (
            "a killed fit goes on, and ends as if nothing had happened",
            "kills at random moments",
            f"{kills['kills']:,} kills, {kills['other_models']:,} other models",
        ),
        (
            "bad input is answered by a sentence",
            "fuzzing of every reader",
            f"{sum(each['inputs'] for each in fuzzing.values()):,} inputs",
        ),
        (
            "nothing is left behind, and memory does not grow",
            "many fits in one process",
            f"{soak['fits']:,} fits, {soak['growth']:+.1%} of memory",
        ),
        ("a table gives the same model in every source and engine", "tests of every pair", WITH_EVERY_CHANGE),
        (
            "a server that dies, a disk that is full, two fits at once: one sentence, nothing half written",
            "tests with real processes",
            WITH_EVERY_CHANGE,
        ),
        ("the jobs and the order of rows change no byte", "tests of random data", WITH_EVERY_CHANGE),
        (
            "model files of earlier versions load and predict the same",
            "files that are kept",
            WITH_EVERY_CHANGE,
        ),
    ]
    header = _row("what is promised", "how it was tried", "how often")
    return "\n".join([header, "|---" * 3 + "|", *(_row(*row) for row in rows)])


COMPARED = ("values", "predictions", "transform", "counts", "values of SQL", "rows of SQL")
"""What the campaign compares with its oracle."""


def _comparisons(block: dict[str, Any]) -> Counter[str]:
    return Counter({name: block["compared"].get(name, 0) for name in COMPARED})


def _kills(found: dict[str, Any]) -> str:
    return (
        f"{found['kills']:,} kills hit a running fit, {found['after_a_step']:,} of them after at least one "
        f"step was saved. {found['other_models']:,} models differed from the undisturbed one, "
        f"{found['unfinished']:,} resumed fits failed."
    )


def _soak(found: dict[str, Any]) -> str:
    return (
        f"{found['fits']:,} fits: {found['megabytes_early']} MB at first, {found['megabytes_late']} MB at "
        f"the end ({found['growth']:+.1%}). Left behind: {found['files_left']} temporary files, "
        f"{found['handles_left']} file handles, {found['threads_left']} threads, "
        f"{found['connections_left']} connections."
    )


def _law_of_the_future(found: dict[str, Any]) -> str:
    return (
        f"{found['worlds']:,} random worlds with {found['learners']} ways to learn, "
        f"{found['engines']['duckdb']:,} of them in place in DuckDB too, {found['engines']['postgres']:,} in "
        f"PostgreSQL, and {found['engines']['naive']:,} predicted by the definition of features too. "
        f"{found['faults']:,} broke the law."
    )


def _campaign(found: dict[str, Any]) -> str:
    blocks = found["blocks"]
    compared = sum((Counter(each["compared"]) for each in blocks), Counter[str]())
    lines = [_row("compared with the oracle", "numbers"), "|---" * 2 + "|"]
    lines += [_row(name, f"{compared[name]:,}") for name in COMPARED]
    total = sum(compared[name] for name in COMPARED)
    faults = sum(each["worlds_with_faults"] for each in blocks)
    commits = dict.fromkeys(each["commit"] for each in blocks)
    return (
        f"{sum(each['worlds'] for each in blocks):,} worlds on {len(commits)} states of the code, {total:,} "
        f"comparisons, {faults:,} of the worlds with a fault when they were first tried. Kinds of features: "
        f"{_numbers_of(compared, 'kind ')}. Losses: {_numbers_of(compared, 'loss ')}. Worlds by system: "
        f"{_numbers_of(compared, 'worlds in ')}.\n\n" + "\n".join(lines)
    )


def _numbers_of(compared: dict[str, int], beginning: str) -> str:
    found = {name: number for name, number in sorted(compared.items()) if name.startswith(beginning)}
    return ", ".join(f"{name.removeprefix(beginning)} {number:,}" for name, number in found.items())


def _fuzzing(found: dict[str, Any]) -> str:
    rows = [
        _row(name, *(f"{each[column]:,}" for column in ("seconds", "cpu_seconds", "inputs", "edges")))
        for name, each in sorted(found.items())
    ]
    return "\n".join(
        [_row("target", "seconds", "CPU seconds", "inputs", "edges reached"), "|---" * 5 + "|", *rows]
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _coverage(found: dict[str, Any]) -> str:
    where = "".join(f"{', ' if place else ' of '}`{room}`" for place, room in enumerate(found["rooms"]))
    said = (
        f"{found['percent']}% of lines and branches{where} "
        f"({found['lines_run']:,} of {found['lines']:,} lines, "
        f"{found['branches_run']:,} of {found['branches']:,} branches), by {found['tests']}."
    )
    below = ", ".join(f"`{name}` {percent}%" for name, percent in found["below"].items())
    return f"{said}\n\nBelow 95%: {below}." if below else said


def _mutants(found: dict[str, Any]) -> str:
    lines = [_row("module", "possible", "tried", "noticed", "share"), "|---" * 5 + "|"]
    for name, each in sorted(found.items()):
        share = f"{each['noticed'] / each['tried']:.0%}"
        lines.append(_row(name, str(each["possible"]), str(each["tried"]), str(each["noticed"]), share))
    survivors = [(name, text) for name, each in sorted(found.items()) for text in each["survivors"]]
    if survivors:
        lines += ["", "Not noticed:", ""]
    for name, text in survivors:
        why = REASONS.get(f"{name} {text}")
        # A record has lines of the version that was tried, which say nothing of later ones.
        shown = re.sub(r"^line \d+: ", "", text).replace("  ->  ", "` became `")
        lines.append(f"- {name}, `{shown}`" + (f": {why}" if why else ""))
    return "\n".join(lines)


def _core(found: dict[str, Any]) -> str:
    ran = [f"Python {name}: {each['verbs']} commands" for name, each in sorted(found.items())]
    return f"{'; '.join(ran)}."


def _oldest(found: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(found["versions"].items()))
    return f"{found['passed']:,} tests pass on {versions}."


BLOCKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "promises": _promises,
    "kills": _kills,
    "soak": _soak,
    "law_of_the_future": _law_of_the_future,
    "campaign": _campaign,
    "fuzzing": _fuzzing,
    "coverage": _coverage,
    "mutants": _mutants,
    "core": _core,
    "oldest": _oldest,
}


if __name__ == "__main__":
    main()
