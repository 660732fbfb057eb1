"""Reported cases in the words of the wire: steps and filters to messages, memories to `Seen`.

Pure translation, no call. All times of a case are seconds relative to one `now`.
"""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct, Value

from recalld.bench.case_expect import Seen
from recalld.bench.ranked import CONTENT_BYTES_MAX, split
from recalld.bench.target import importance_of, kind_of, stated_by_of, timestamp
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import (
    Condition,
    Filter,
    FloatVector,
    Importance,
    KindSet,
    Memory,
    MemoryKind,
    MemoryStatus,
    MetadataCondition,
    Scope,
    StatedBy,
    StatedBySet,
    TimeRange,
    Vector,
)

USER = "u1"
AGENT = "a1"
VALUE_NAME = "value"  # under which a scalar value is stored


def scope_of(step: Mapping[str, Any], prefix: str) -> Scope:
    """The scope, its user under `prefix` so that no other case sees it; a blank one stays blank."""
    scope = step.get("scope", {})
    user = scope.get("user_id", USER)
    return Scope(
        user_id=f"{prefix}/{user}" if user.strip() else user,
        agent_id=scope.get("agent_id", AGENT),
        session_id=scope.get("session_id", ""),
    )


def text_of(value: str | Mapping[str, Any]) -> str:
    """A text as it stands, or one described as prefix, repeated filler and suffix."""
    if isinstance(value, str):
        return value
    filler = value.get("filler", "") * value.get("times", 0)
    return f"{value.get('prefix', '')}{filler}{value.get('suffix', '')}"


def memories_of(step: Mapping[str, Any], text: str, t: float, now: datetime) -> list[Memory]:
    """What one `remember` stores: one memory, or several if the text is longer than one may be."""
    memory = Memory(
        kind=kind_of(step["kind"]), key=step.get("key", ""), event_time=_instant(t, now)
    )
    if "importance" in step:
        memory.importance = importance_of(step["importance"])
    if "confidence" in step:
        memory.confidence = step["confidence"]
    if "source" in step:
        memory.stated_by = stated_by_of(step["source"])
    if "value" in step:
        memory.value.update({VALUE_NAME: step["value"]})
    if "meta" in step:
        memory.metadata.update(step["meta"])
    if "expires_in" in step:
        memory.expire_time.CopyFrom(_instant(t + step["expires_in"], now))
    # A text that fits goes as it is: how the server takes blanks and odd characters is the test.
    pieces = [text] if len(text.encode()) <= CONTENT_BYTES_MAX else split(text)
    return [_with_content(memory, piece) for piece in pieces]


def _with_content(memory: Memory, content: str) -> Memory:
    copy = Memory(content=content)
    copy.MergeFrom(memory)
    return copy


def recall_of(step: Mapping[str, Any], prefix: str, now: datetime, dimension: int) -> RecallRequest:
    """The request of a `recall` or `assemble`."""
    request = RecallRequest(scope=scope_of(step, prefix))
    if "text" in step:
        request.text = text_of(step["text"])
    if "vector" in step:
        width = dimension + step["vector"].get("dim_delta", 0)
        unit = FloatVector(values=[1.0] + [0.0] * (width - 1))
        request.vector.CopyFrom(Vector(floats=unit))
    if "k" in step:
        request.k = step["k"]
    if "min_score" in step:
        request.min_score = step["min_score"]
    if "as_of" in step:
        request.as_of.CopyFrom(_instant(step["as_of"], now))
    if "filters" in step:
        request.filter.CopyFrom(filter_of(step["filters"], now))
    request.include_superseded = bool(step.get("include_superseded"))
    return request


def filter_of(filters: Mapping[str, Any], now: datetime) -> Filter:
    """All of the filters as conditions that have to hold.

    Raises:
        ValueError: there is one that has no counterpart.
    """
    conditions = []
    for name, value in filters.items():
        match name:
            case "kind":
                kinds = KindSet(values=[kind_of(k) for k in _listed(value)])
                conditions.append(Condition(kind=kinds))
            case "source":
                speakers = StatedBySet(values=[stated_by_of(s) for s in _listed(value)])
                conditions.append(Condition(stated_by=speakers))
            case "session_id" | "agent_id" | "key":
                condition = Condition()
                getattr(condition, name).values.extend(_listed(value))
                conditions.append(condition)
            case "meta":
                conditions += [_metadata(path, wanted) for path, wanted in value.items()]
            case "time_from" | "time_to":
                pass  # one condition for both, below
            case _:
                raise ValueError(f"unknown filter {name!r}")
    if filters.keys() & {"time_from", "time_to"}:
        times = TimeRange()
        if "time_from" in filters:
            getattr(times, "from").CopyFrom(_instant(filters["time_from"], now))
        if "time_to" in filters:
            times.to.CopyFrom(_instant(filters["time_to"], now))
        conditions.append(Condition(event_time=times))
    return Filter(must=conditions)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _metadata(path: str, wanted: Any) -> Condition:
    holder = Struct()
    holder.update({"wanted": wanted})
    equals: Value = holder.fields["wanted"]
    return Condition(metadata=MetadataCondition(path=path, equals=equals))


def _instant(t: Any, now: datetime) -> Any:
    """A time of a case on the wire; an offset it is printed with changes nothing there."""
    seconds = t["t"] if isinstance(t, Mapping) else t
    return timestamp(now + timedelta(seconds=seconds))


def seen_of(memory: Memory, labels: Set[str], now: datetime, score: float = 0.0) -> Seen:
    """A memory of the server as the case speaks of it."""
    status = memory.status
    marks = {
        "superseded": status == MemoryStatus.MEMORY_STATUS_SUPERSEDED or memory.superseded_by,
        "conflict": status == MemoryStatus.MEMORY_STATUS_CONFLICTED or memory.conflict_group,
        "expired": status == MemoryStatus.MEMORY_STATUS_EXPIRED,
        "duplicate": len(labels) > 1,
    }
    live = (MemoryStatus.MEMORY_STATUS_ACTIVE, MemoryStatus.MEMORY_STATUS_CONFLICTED)
    return Seen(
        id=memory.id,
        labels=frozenset(labels),
        marks=frozenset(name for name, carried in marks.items() if carried),
        fields=_fields_of(memory, now),
        score=score,
        live=status in live,
    )


def _fields_of(memory: Memory, now: datetime) -> dict[str, Any]:
    value = MessageToDict(memory.value)
    return {
        "kind": MemoryKind.Name(memory.kind).removeprefix("MEMORY_KIND_").lower(),
        "text": memory.content,
        "t": memory.event_time.ToSeconds() - int(now.timestamp()),
        "key": memory.key,
        "value": value.get(VALUE_NAME, value or None),
        "importance": Importance.Name(memory.importance),
        "confidence": memory.confidence,
        "source": StatedBy.Name(memory.stated_by).removeprefix("STATED_BY_").lower(),
        "meta": MessageToDict(memory.metadata),
        "agent_id": memory.scope.agent_id,
        "session_id": memory.scope.session_id,
    }


def expected_on_wire(expect: Mapping[str, Any]) -> dict[str, Any]:
    """An expectation whose `fields` are as the server keeps them: importance is a level there."""
    translated = dict(expect)
    if "fields" in translated:
        translated["fields"] = {
            label: {n: _level(v) if n == "importance" else v for n, v in values.items()}
            for label, values in translated["fields"].items()
        }
    for nested in ("any_of", "should"):
        if nested in translated:
            inner: Any = translated[nested]
            many: Sequence[Any] = inner if isinstance(inner, list) else [inner]
            done = [expected_on_wire(e) for e in many]
            translated[nested] = done if isinstance(inner, list) else done[0]
    return translated


def _level(value: float) -> str:
    return Importance.Name(importance_of(value))
