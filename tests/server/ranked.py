"""Ranked hits made by hand, for what works on them alone."""

from __future__ import annotations

from typing import Any

from recalld.server.hits import RankedHit
from recalld.storage.record import Kind, MemoryRecord, Scope
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import NOW_US

HIGH = pb.ConfidenceBand.CONFIDENCE_BAND_HIGH
LOW = pb.ConfidenceBand.CONFIDENCE_BAND_LOW


def record(content: str, label: int = 1, **fields: Any) -> MemoryRecord:
    """A record of one user, as of now unless told otherwise."""
    kind = fields.pop("kind", Kind.FACT)
    times = {"event_time_us": NOW_US, "create_time_us": NOW_US} | fields
    return MemoryRecord(label, f"{label:032x}", Scope("t", "u"), kind, content, **times)


def hit(
    record: MemoryRecord, score: float = 0.5, band: int = HIGH, *, past: bool = False
) -> RankedHit:
    """A hit without the ranking behind it."""
    return RankedHit(record, score, band, (), None, 0, past)  # type: ignore[arg-type]
