"""From files, tables and connections to a Database."""

from hornbeam.loading.entrance import load
from hornbeam.loading.modes import modes_text

__all__ = ["load", "modes_text"]
