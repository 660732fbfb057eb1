"""The rules of the server for one memory, checked before anything is sent.

An import promises that a bad line stops it before any write, so what the server would refuse has
to be found while the file is read. The numbers come from the server (`recalld info`); one that it
does not report is not checked. Never the last word: the server checks every memory again.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from recalld.client import NewMemory, Source
from recalld.client.requests import memory_message
from recalld.client.wiretypes import to_dict

TIME_FIELDS = ("event_time", "valid_from", "valid_to", "expire_time")
# Whole years that the contract allows: from the first instant of one to that of the other.
TIME_MIN = datetime(1900, 1, 1, tzinfo=UTC)
TIME_MAX = datetime(2200, 1, 1, tzinfo=UTC)
TURN_MAX = 2**31 - 1

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
CONTROL_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def check(scope: Mapping[str, str], memory: NewMemory, limits: Mapping[str, int]) -> None:
    """Checks a memory and the scope that it is stored under.

    Args:
        scope: By `user_id`, `agent_id`, `session_id` and `namespace`; what is missing is empty.
        memory: Of the right types, as `record.parse` gives it.
        limits: By the names of `ServerInfo.limits`.

    Raises:
        ValueError: If the server would refuse it; names the field and the limit.
    """
    if is_blank(scope.get("user_id", "")):
        raise ValueError("user_id: missing; name one in the line or with --user")
    for name, given in scope.items():
        _check_name(name, given, limits.get("name_bytes_max"))
    _check_text("content", memory.content, limits.get("content_bytes_max"))
    _check_key(unicodedata.normalize("NFC", memory.key), limits)
    _check_name("language", memory.language, limits.get("language_bytes_max"))
    if memory.language and not LANGUAGE_TAG.fullmatch(memory.language):
        raise ValueError("language: not a tag such as zh, en or zh-TW")
    _check_times(memory)
    _check_cues(memory, limits)
    _check_source(memory.source or Source(), limits)
    _check_objects(memory, limits)
    if memory.confidence is not None and not 0.0 <= memory.confidence <= 1.0:
        raise ValueError("confidence: not a number from 0 to 1")
    if str(memory.visibility or "").lower() == "private" and not scope.get("agent_id"):
        raise ValueError("visibility: private needs an agent_id, in the line or with --agent")


def is_blank(text: str) -> bool:
    """Whether nothing of the text can be seen."""
    return not text.translate(INVISIBLE).strip()


def _check_size(name: str, text: str, bytes_max: int | None) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{name}: not valid Unicode text") from None
    if bytes_max is not None and size > bytes_max:
        raise ValueError(f"{name}: has {size} bytes; the limit is {bytes_max}")


def _check_name(name: str, text: str, bytes_max: int | None) -> None:
    """A text like an identifier."""
    _check_size(name, text, bytes_max)
    if CONTROL.search(text):
        raise ValueError(f"{name}: holds a control character")


def _check_text(name: str, text: str, bytes_max: int | None) -> None:
    """A text of a person."""
    if is_blank(text):
        raise ValueError(f"{name}: missing or blank")
    _check_size(name, text, bytes_max)
    _check_characters(name, text)


def _check_characters(name: str, text: str) -> None:
    found = CONTROL_IN_TEXT.search(text)
    if found:
        raise ValueError(f"{name}: holds the control character U+{ord(found[0]):04X}")


def _check_key(key: str, limits: Mapping[str, int]) -> None:
    if key and is_blank(key):
        raise ValueError("key: blank")
    _check_name("key", key, limits.get("name_bytes_max"))


def _check_times(memory: NewMemory) -> None:
    for name in TIME_FIELDS:
        time = getattr(memory, name)
        if time is not None and not TIME_MIN <= time <= TIME_MAX:
            raise ValueError(f"{name}: must lie in the years 1900 to 2200")
    start = memory.valid_from or memory.event_time or datetime.now(UTC)
    if memory.valid_to is not None and memory.valid_to <= start:
        raise ValueError("valid_to: must be after valid_from (or event_time, or now)")


def _check_cues(memory: NewMemory, limits: Mapping[str, int]) -> None:
    count_max = limits.get("cue_count_max", math.inf)
    if len(memory.relevant_when) > count_max:
        raise ValueError(
            f"relevant_when: has {len(memory.relevant_when)} entries; the limit is {count_max}"
        )
    for number, cue in enumerate(memory.relevant_when):
        _check_text(f"relevant_when[{number}]", cue, limits.get("name_bytes_max"))


def _check_source(source: Source, limits: Mapping[str, int]) -> None:
    _check_name("source.session_id", source.session_id, limits.get("name_bytes_max"))
    _check_name("source.message_id", source.message_id, limits.get("name_bytes_max"))
    _check_name("source.uri", source.uri, limits.get("uri_bytes_max"))
    if not 0 <= source.turn <= TURN_MAX:
        raise ValueError(f"source.turn: is {source.turn}; the limits are 0 to {TURN_MAX}")


def _check_objects(memory: NewMemory, limits: Mapping[str, int]) -> None:
    for name in ("value", "metadata"):
        given = getattr(memory, name)
        if not given:
            continue
        # Measured as the server reads it: the wire has one form for all numbers.
        plain = to_dict(memory_message({name: given}), name)
        _check_inside(name, plain, limits, 0)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        _check_size(name, text, limits.get("struct_bytes_max"))


def _check_inside(name: str, given: Any, limits: Mapping[str, int], depth: int) -> None:
    """Depth, keys and texts of a JSON value."""
    depth_max = limits.get("struct_depth_max", math.inf)
    if depth > depth_max:
        raise ValueError(f"{name}: nested deeper than {depth_max} levels")
    match given:
        case str():
            _check_characters(name, given)
        case list():
            for number, inner in enumerate(given):
                _check_inside(f"{name}[{number}]", inner, limits, depth + 1)
        case dict():
            for key, inner in given.items():
                if is_blank(key):
                    raise ValueError(f"{name}: has a blank key")
                _check_name(f"{name} key", key, limits.get("name_bytes_max"))
                _check_inside(f"{name}.{key}", inner, limits, depth + 1)
