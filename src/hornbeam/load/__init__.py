"""Files, tables and connections as databases, checked at the door."""

from hornbeam.load.background import modes_text
from hornbeam.load.door import load

__all__ = ["load", "modes_text"]
