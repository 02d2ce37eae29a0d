"""From files, tables and connections to a Database."""

from hornbeam.loading.entrance import load
from hornbeam.loading.facts.background import modes_text

__all__ = ["load", "modes_text"]
