"""Memories as they go out, kept while they do not change: encoding one costs more than finding it.

Bounded, least recently used first out. A record that changed, or ran out, is encoded anew.
"""

from __future__ import annotations

from collections import OrderedDict

from recalld.server import codec
from recalld.storage.record import MemoryRecord
from recalld.v1 import types_pb2

KEPT_COUNT_MAX = 4_096


class EncodedMemories:
    """Wire messages of recent hits, by label."""

    def __init__(self, kept_max: int = KEPT_COUNT_MAX) -> None:
        """Start empty."""
        self._kept_max = kept_max
        self._kept: OrderedDict[int, types_pb2.Memory] = OrderedDict()

    def get(self, record: MemoryRecord, now_us: int) -> types_pb2.Memory:
        """The message of a record; not to be changed by the caller."""
        message = self._kept.get(record.label)
        if (
            message is not None
            and message.revision == record.revision
            and message.status == codec.shown_status(record, now_us)
        ):
            self._kept.move_to_end(record.label)
            return message
        message = codec.memory(record, now_us)
        self._kept[record.label] = message
        if len(self._kept) > self._kept_max:
            self._kept.popitem(last=False)
        return message
