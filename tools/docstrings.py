"""Docstrings for the reference pages: sessions as code, and the parameters that classifiers get at run time.

mkdocs.yml names this module as an extension of griffe, which reads the sources.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

_SESSION = re.compile(r"(?m)^>>> .*\n?(?:(?!\s*$).*\n?)*")
_AT_RUN_TIME = "hornbeam.estimators.learners."
"""The classes here take their parameters, and the list of them, from the declared options."""


class Docstrings(griffe.Extension):
    """Changes docstrings before they are drawn."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of a module, class or function."""
        if obj.path.startswith(_AT_RUN_TIME) and obj.is_class:
            module, _, name = obj.path.rpartition(".")
            text = inspect.getdoc(getattr(import_module(module), name)) or ""
            obj.docstring = griffe.Docstring(text, parent=obj)
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with sessions of Python as blocks of code.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2").splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return _SESSION.sub(lambda session: f"```pycon\n{session[0].rstrip()}\n```\n", text).rstrip()
