"""Which files make up a data set.

BoostSRL layout: ``train/train_facts.txt``, ``train/train_pos.txt``, ``train/train_neg.txt``, and the
same for ``test`` or any other split. Flat folder: ``facts.txt``, ``pos.txt``, ``neg.txt``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, OptionError, Place
from hornbeam.loading.facts.files import reason

KINDS = ("facts", "pos", "neg")
DEFAULT_SPLIT = "train"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one split; ``background`` is None where there is none."""

    facts: Path
    positives: Path
    negatives: Path
    background: Path | None
    notices: tuple[Notice, ...] = ()


def find_layout(folder: Path, split: str | None, default: str = DEFAULT_SPLIT) -> Layout:
    """The files of a data set; in BoostSRL layout those of the split, or of the default one."""
    _check_folder(folder)
    splits = _splits(folder)
    flat = [kind for kind in KINDS if _exists(folder / f"{kind}.txt")]
    if splits and flat and split is None:
        raise DataError(
            f'"{folder}" holds {flat[0]}.txt and also splits, so it is open which data are meant; '
            f"name a split ({', '.join(splits)}) or keep the two apart."
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
    raise DataError(_nothing_found(folder, split or default))


def holds_facts(folder: Path, as_tables: bool = False) -> bool:
    """Whether a folder has files of facts or examples; a schema says that it is one of tables."""
    if as_tables or _exists(folder / "schema.toml"):
        return False
    return any(_exists(folder / f"{kind}.txt") for kind in KINDS) or bool(_splits(folder))


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


def _exists(path: Path) -> bool:
    # A link that leads nowhere is there too: reading it says what is wrong.
    return os.path.lexists(path)


def _splits(folder: Path) -> list[str]:
    """Names of sub-folders that hold the files of a split, sorted."""
    names = [entry.name for entry in _entries(folder) if entry.is_dir()]
    return [name for name in names if any(_exists(folder / name / f"{name}_{kind}.txt") for kind in KINDS)]


def _layout(folder: Path, inside: Path, prefix: str) -> Layout:
    facts, positives, negatives = (inside / f"{prefix}{kind}.txt" for kind in KINDS)
    for path in (facts, positives, negatives):
        if not _exists(path):
            raise DataError(
                f'"{path}" is missing; facts, positive and negative examples each need a file, '
                "which may be empty."
            )
    own = inside / f"{prefix}bk.txt" if prefix else None
    background, notices = _background(folder, own)
    return Layout(facts, positives, negatives, background, tuple(notices))


def _background(folder: Path, own: Path | None) -> tuple[Path | None, list[Notice]]:
    """The split's own background; else that of the folder; else that of the folder above."""
    if own is not None and _exists(own):
        return own, []
    notices: list[Notice] = []
    above = Path(os.path.normpath(folder / os.pardir))
    # The folder above a link is where the link stands, or else where it leads.
    for place in dict.fromkeys([folder, above, folder.resolve().parent]):
        if _exists(place / "background.txt"):
            return place / "background.txt", []
        named = [entry for entry in _entries(place) if entry.name.endswith("_bk.txt")]
        if len(named) == 1:
            return named[0], []
        if named:
            names = ", ".join(entry.name for entry in named)
            notices.append(
                Notice(
                    f"more than one file could be the background ({names}), so none of them is used; "
                    "name the right one background.txt.",
                    Place(str(place)),
                )
            )
    return None, notices


def _entries(folder: Path) -> list[Path]:
    """What a folder holds, sorted; nothing where it may not be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _nothing_found(folder: Path, split: str) -> str:
    message = (
        f'no data in "{folder}": looked for {", ".join(f"{split}/{split}_{kind}.txt" for kind in KINDS)} '
        f"(BoostSRL layout), {', '.join(f'{kind}.txt' for kind in KINDS)} (flat folder) and "
        "tables (*.csv, *.parquet, schema.toml)"
    )
    name = folder.resolve().name
    if any(_exists(folder / f"{name}_{kind}.txt") for kind in KINDS):
        return f'{message}; it looks like one split: name the folder above it, with split "{name}".'
    below = [
        entry.name
        for entry in _entries(folder)
        if entry.is_dir() and (_exists(entry / "facts.txt") or _splits(entry))
    ]
    if below:
        shown = ", ".join(below[:12])
        return f"{message}; there are data one folder further down: {shown}."
    return f"{message}."
