"""The counter of clauses that belongs to an engine.

Facts in memory are counted as vectors (``vectors``), whatever the engine. Facts in tables are counted as the
feature ``count`` of bodies (``by_features``), which the engine of the tables answers. The engine ``naive``
has the definition.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from hornbeam.engines.clauses.by_features import FeatureCounter
from hornbeam.engines.clauses.contract import ClauseCounter
from hornbeam.engines.clauses.naive import NaiveCounter
from hornbeam.engines.clauses.vectors.counter import VectorCounter
from hornbeam.engines.contract import Engine
from hornbeam.engines.naive import NaiveEngine

_VECTORS: WeakKeyDictionary[Engine, VectorCounter] = WeakKeyDictionary()


def counter_of(engine: Engine) -> ClauseCounter:
    """What counts clauses for an engine, within its memory and with its cache."""
    if isinstance(engine, NaiveEngine):
        return NaiveCounter(engine)
    if engine.database.is_in_place:
        return FeatureCounter(engine)
    if engine not in _VECTORS:
        _VECTORS[engine] = VectorCounter(engine.database, engine.memory, engine.cache)
    return _VECTORS[engine]
