"""Data folders written by tests, and databases read back as plain values."""

from pathlib import Path

from hornbeam.data.database import Database
from hornbeam.logic.clauses import Atom


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, by their path below the folder; bytes as they are, text as UTF-8 with its line ends."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def flat(
    folder: Path, facts: str | bytes = "", background: str | bytes | None = None, **examples: str
) -> Path:
    """A flat data folder; unless given, cancer(ann) is positive and cancer(bob) negative."""
    files: dict[str, str | bytes] = {"facts.txt": facts, "pos.txt": "cancer(ann).", "neg.txt": "cancer(bob)."}
    files |= {f"{label}.txt": text for label, text in examples.items()}
    if background is not None:
        files["background.txt"] = background
    return write(folder, files)


def boostsrl(folder: Path, split: str, facts: str = "smokes(ann).", **other: str) -> Path:
    """One split in BoostSRL layout, with the same examples as ``flat``."""
    files: dict[str, str | bytes] = {f"{split}/{split}_facts.txt": facts}
    for label, text in {"pos": "cancer(ann).", "neg": "cancer(bob).", **other}.items():
        files[f"{split}/{split}_{label}.txt"] = text
    return write(folder, files)


def split_files(database: Database, split: str) -> dict[str, str | bytes]:
    """A database with one target as the files of one split in BoostSRL layout."""
    (target,) = database.example_sets
    examples = examples_of(database, target)
    atoms = {
        "facts": sorted(facts_of(database)),
        "pos": [Atom(target, key) for key, label in examples if label],
        "neg": [Atom(target, key) for key, label in examples if not label],
    }
    return {
        f"{split}/{split}_{name}.txt": "".join(f"{atom}.\n" for atom in some) for name, some in atoms.items()
    }


def world(folder: Path, train: Database, test: Database) -> Path:
    """Two databases as the splits train and test of a folder, with the modes of the first."""
    background = "".join(f"mode: {mode}\n" for mode in train.modes)
    files = split_files(train, "train") | split_files(test, "test") | {"background.txt": background}
    return write(folder, files)


def facts_of(database: Database) -> set[Atom]:
    """The facts of a database by name."""
    found = set()
    for predicate, relation in database.relations.items():
        types = database.schema.types_of(predicate)
        columns = [
            database.population(type_name).decode(column)
            for type_name, column in zip(types, relation.columns, strict=True)
        ]
        found.update(Atom(predicate, row) for row in zip(*columns, strict=True))
    return found


def examples_of(database: Database, target: str) -> list[tuple[tuple[str, ...], int]]:
    """Keys and labels of a target, in order."""
    keys, labels = database.examples(target)
    return [(tuple(key), int(label)) for key, label in zip(keys.tolist(), labels, strict=True)]


def said(database: Database, folder: Path) -> list[str]:
    """The notices, with paths relative to the folder."""
    return [str(notice).replace(f"{folder}/", "") for notice in database.notices]
