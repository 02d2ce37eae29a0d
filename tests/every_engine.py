"""The engines that the shared suites run on; an engine is added by adding its name here."""

from hornbeam.engines.contract import Engine
from hornbeam.engines.memory import MemoryEngine
from hornbeam.engines.naive import NaiveEngine

ENGINES: dict[str, type[Engine]] = {"naive": NaiveEngine, "memory": MemoryEngine}
