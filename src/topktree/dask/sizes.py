"""How much memory results take, told to Dask.

In: results of tasks, dataclasses of arrays. Out: their bytes. Dask takes an object that it does not know for some fifty
bytes: it would neither write shards to disk in time nor mind sending them to another worker.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dask.sizeof import sizeof

from .counted_nodes import Answer
from .features import FeatureSummary
from .shards import DistinctRows, LeftOut, Question, Shard, ShardFacts
from .target import TargetSummary
from .value_summary import ValueSummary

RESULTS = (Answer, DistinctRows, FeatureSummary, LeftOut, Question, Shard, ShardFacts, TargetSummary, ValueSummary)


def size_of_fields(result: Any) -> int:
    """Bytes of a dataclass."""
    return object.__sizeof__(result) + sum(int(sizeof(getattr(result, field.name))) for field in fields(result))


sizeof.register(RESULTS, size_of_fields)
