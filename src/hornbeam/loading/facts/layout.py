"""Which files make up a data set of facts.

BoostSRL layout: ``train/train_facts.txt``, ``train/train_pos.txt``, ``train/train_neg.txt``, and the
same for ``test`` or any other split. Flat folder: ``facts.txt``, ``pos.txt``, ``neg.txt``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, OptionError, Place
from hornbeam.loading.files import entries, reason
from hornbeam.loading.kind_of_source import DEFAULT_SPLIT, FACT_FILES, is_there, splits_in

MODES_INFERRED = Notice(
    "the data state no modes, so types and modes were inferred from shared constants; "
    "run `hornbeam modes` to see them."
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one split; ``background`` is None where there is none."""

    facts: Path
    positives: Path
    negatives: Path
    background: Path | None
    notices: tuple[Notice, ...] = ()


def find_layout(folder: Path, split: str | None, default: str = DEFAULT_SPLIT) -> Layout:
    """The files of a data set; in BoostSRL layout those of the given split, or else of the default one."""
    _check_folder(folder)
    splits = splits_in(folder)
    flat = [kind for kind in FACT_FILES if is_there(folder / f"{kind}.txt")]
    if splits and flat and split is None:
        raise DataError(
            f'"{folder}" holds {flat[0]}.txt and also splits, so it is not clear which data to read; '
            f"name a split ({', '.join(splits)}), or move one of the two to another folder."
        )
    if splits:
        chosen = default if split is None else split
        if chosen not in splits:
            raise OptionError(f'"{folder}" has no split "{chosen}"; it has: {", ".join(splits)}.')
        return _layout(folder, folder / chosen, f"{chosen}_")
    if flat:
        if split is not None:
            raise OptionError(
                f'"{folder}" is a flat folder with one set of examples, so there is no split "{split}"; '
                "leave the split out."
            )
        return _layout(folder, folder, "")
    raise DataError(_no_data(folder, split or default))


def _check_folder(folder: Path) -> None:
    try:
        next(folder.iterdir(), None)
    except NotADirectoryError:
        raise DataError(f'"{folder}" is a file; name the folder that holds facts and examples.') from None
    except (OSError, ValueError) as error:
        raise DataError(
            f'cannot read "{folder}": {reason(error)}; name a folder of facts or of tables, or a database '
            f"file."
        ) from error


def _layout(folder: Path, inside: Path, prefix: str) -> Layout:
    facts, positives, negatives = (inside / f"{prefix}{kind}.txt" for kind in FACT_FILES)
    for path in (facts, positives, negatives):
        if not is_there(path):
            raise DataError(
                f'"{path}" is missing; facts, positive examples and negative examples each need a file, '
                "which may be empty."
            )
    own = inside / f"{prefix}bk.txt" if prefix else None
    background, notices = _background(folder, own)
    return Layout(facts, positives, negatives, background, tuple(notices))


def _background(folder: Path, own: Path | None) -> tuple[Path | None, list[Notice]]:
    """The split's own background; else that of the folder; else that of the parent folder."""
    if own is not None and is_there(own):
        return own, []
    notices: list[Notice] = []
    parent = Path(os.path.normpath(folder / os.pardir))
    # For a link: first the folder that holds the link, then the parent of the folder it leads to.
    for place in dict.fromkeys([folder, parent, folder.resolve().parent]):
        if is_there(place / "background.txt"):
            return place / "background.txt", []
        candidates = [entry for entry in entries(place) if entry.name.endswith("_bk.txt")]
        if len(candidates) == 1:
            return candidates[0], []
        if candidates:
            names = ", ".join(entry.name for entry in candidates)
            notices.append(
                Notice(
                    f"more than one file could be the background ({names}), so none of them is used; "
                    "rename the right one to background.txt.",
                    Place(str(place)),
                )
            )
    return None, notices


def _no_data(folder: Path, split: str) -> str:
    message = (
        f'no data in "{folder}": looked for {", ".join(f"{split}/{split}_{kind}.txt" for kind in FACT_FILES)}'
        f" (BoostSRL layout), {', '.join(f'{kind}.txt' for kind in FACT_FILES)} (flat folder) and "
        "tables (*.csv, *.parquet, schema.toml)"
    )
    name = folder.resolve().name
    if any(is_there(folder / f"{name}_{kind}.txt") for kind in FACT_FILES):
        return f'{message}; it looks like one split: name its parent folder, with split "{name}".'
    below = [
        entry.name
        for entry in entries(folder)
        if entry.is_dir() and (is_there(entry / "facts.txt") or splits_in(entry))
    ]
    if below:
        shown = ", ".join(below[:12])
        return f"{message}; these sub-folders hold data: {shown}."
    return f"{message}."
