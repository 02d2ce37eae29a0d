"""The command line: a thin layer; every verb has a counterpart in Python."""

from hornbeam.cli.app import main

__all__ = ["main"]
