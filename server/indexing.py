"""What the index is told of a record.

The searchable text and the columns that ranking and filters need.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import tzinfo

from recalld.index.columns import IndexRow
from recalld.index.memory_times import memory_times
from recalld.index.tentative import is_tentative
from recalld.scoring.params import Doubt
from recalld.server.partition import CURRENT
from recalld.server.precedence import last_said_us
from recalld.storage.record import Kind, MemoryRecord, Status

ID_DIGITS = 15
"""Of an id's 32 hex digits: what fits into 63 bits, and more than tells two memories apart."""
KEY_SEPARATORS = re.compile(r"[._\-/:\s]+")


def key_words(key: str) -> str:
    """A key as words: `location.home` -> `location home`."""
    return KEY_SEPARATORS.sub(" ", key).strip()


def led_text(key: str, content: str) -> str:
    """A content led by the words of its key."""
    words = key_words(key)
    return f"{words}: {content}" if words else content


def embedded_text(record: MemoryRecord) -> str:
    """The text whose vector stands for a memory: its content, led by the words of its key."""
    return led_text(record.key, record.content)


def source_hash(record: MemoryRecord) -> bytes:
    """16 bytes over the texts of a memory that are embedded."""
    texts = json.dumps([embedded_text(record), *record.relevant_when])
    return hashlib.blake2b(texts.encode(), digest_size=16).digest()


def is_outweighed(record: MemoryRecord) -> bool:
    """Whether a current record has another one against it that weighs more."""
    return record.status in CURRENT and bool(record.superseded_by)


def doubt_of(record: MemoryRecord) -> Doubt:
    """Why a current record may not hold."""
    if is_outweighed(record):
        return Doubt.CONTRADICTED if record.status == Status.CONFLICTED else Doubt.OUTDATED
    is_mused = is_tentative(record.kind, record.importance, record.content)
    return Doubt.TENTATIVE if is_mused else Doubt.NONE


def number_of(memory_id: str) -> int:
    """A number that stands for an id within one partition; 0 for none."""
    return int(memory_id[:ID_DIGITS], 16) if memory_id else 0


def index_row(record: MemoryRecord, zone: tzinfo) -> IndexRow:
    """The row of a record; `zone` says when the days begin that its words name."""
    where = record.scope
    said_us = last_said_us(record)
    anchor_us = max(said_us, record.last_used_time_us)
    event_us = record.event_time_us
    # Nobody speaks from the future: an event that lies ahead was announced when it was stored.
    if record.kind == Kind.EVENT and event_us > record.create_time_us:
        said_us = record.create_time_us
    spoken = memory_times(
        record.kind, record.importance, record.content, event_us, said_us, anchor_us, zone
    )
    return IndexRow(
        label=record.label,
        text=record.content,
        key=record.key,
        kind=record.kind,
        status=record.status,
        importance=record.importance,
        stated_by=record.stated_by,
        visibility=record.visibility,
        confidence=record.confidence,
        event_time_us=record.event_time_us,
        create_time_us=record.create_time_us,
        update_time_us=record.update_time_us,
        anchor_time_us=anchor_us,
        valid_from_us=record.valid_from_us,
        valid_to_us=record.valid_to_us,
        expire_time_us=record.expire_time_us,
        superseded_from_us=record.superseded_from_us,
        superseded_time_us=record.superseded_time_us,
        named_from_us=spoken.named_from_us,
        named_to_us=spoken.named_to_us,
        # An end that the writer gave is the end.
        past_time_us=0 if record.valid_to_us else spoken.past_us,
        doubt=doubt_of(record),
        identity=number_of(record.id),
        heir=number_of(record.superseded_by),
        agent_id=where.agent_id,
        session_id=where.session_id,
        namespace=where.namespace,
        source_session_id=record.source.session_id,
        source_uri=record.source.uri,
        language=record.language,
        metadata=json.loads(record.metadata_json) if record.metadata_json else {},
    )
