"""What was probably meant by a word that the command line does not take."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from pathlib import Path

from hornbeam.errors import OptionError

OTHER_WORDS = {
    "train": "fit",
    "learn": "fit",
    "apply": "predict",
    "infer": "predict",
    "score": "evaluate",
    "test": "evaluate",
    "print": "show",
    "view": "show",
    "why": "explain",
    "describe": "inspect",
    "schema": "inspect",
    "html": "report",
    "change": "edit",
    "export": "sql",
    "dbt": "sql",
    "example": "demo",
    "tutorial": "demo",
}
"""Verbs of other programs, and the verb that does the same here."""
_TARGET = re.compile(r"[^\W\d]\w*\.[^\W\d]\w*(=.*)?")
"""What a column as a target looks like."""
_FLAGS_OF_ENDINGS = {
    ".json": ("--model",),
    ".csv": ("--examples", "--out"),
    ".parquet": ("--examples",),
    ".html": ("--out", "--report"),
    ".toml": ("--schema",),
}


def looks_like_target(text: str) -> bool:
    """Whether a text is a column of a table, such as a target has, and no file.

    >>> looks_like_target("customers.churned"), looks_like_target("users.gender=F")
    (True, True)
    >>> looks_like_target("model.json"), looks_like_target("shop/train.csv")
    (False, False)
    """
    ending = Path(text).suffix.lower()
    return _TARGET.fullmatch(text) is not None and ending not in _FLAGS_OF_ENDINGS and not Path(text).exists()


def check_verb(word: str, verbs: Collection[str]) -> None:
    """Refuse a word that is no verb, and name the one that was probably meant."""
    if word.startswith("-") or word in verbs:
        return
    words = [*verbs, *OTHER_WORDS]
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    meant = OTHER_WORDS.get(near[0], near[0]) if near else None
    hint = f'Did you mean "hornbeam {meant}"?' if meant else f"Commands are: {', '.join(verbs)}."
    raise OptionError(f'no command "{word}". {hint}')


def extra_word(word: str, verb: str, flags: Collection[str]) -> OptionError:
    """The error about an argument that a verb does not take; ``flags`` are the flags that it has."""
    meant = next((flag for flag in _meant(word) if flag in flags), None)
    hint = f"Did you mean {meant} {word}?" if meant else f"Run hornbeam {verb} --help to see what it takes."
    return OptionError(f'"{word}" is one argument too many for hornbeam {verb}. {hint}')


def _meant(word: str) -> tuple[str, ...]:
    """The flags that may be meant by a word without a flag."""
    if looks_like_target(word):
        return ("--target",)
    return _FLAGS_OF_ENDINGS.get(Path(word).suffix.lower(), ())
