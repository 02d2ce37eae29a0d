"""The command line: a thin shell; every verb mirrors a Python call."""

from hornbeam.cli.app import main

__all__ = ["main"]
