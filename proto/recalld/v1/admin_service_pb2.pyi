import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from recalld.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SnapshotState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SNAPSHOT_STATE_UNSPECIFIED: _ClassVar[SnapshotState]
    SNAPSHOT_STATE_CREATING: _ClassVar[SnapshotState]
    SNAPSHOT_STATE_READY: _ClassVar[SnapshotState]
    SNAPSHOT_STATE_FAILED: _ClassVar[SnapshotState]
    SNAPSHOT_STATE_DAMAGED: _ClassVar[SnapshotState]
SNAPSHOT_STATE_UNSPECIFIED: SnapshotState
SNAPSHOT_STATE_CREATING: SnapshotState
SNAPSHOT_STATE_READY: SnapshotState
SNAPSHOT_STATE_FAILED: SnapshotState
SNAPSHOT_STATE_DAMAGED: SnapshotState

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Limit(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class EmbedderInfo(_message.Message):
    __slots__ = ("name", "fingerprint", "dimension", "max_tokens")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    name: str
    fingerprint: str
    dimension: int
    max_tokens: int
    def __init__(self, name: _Optional[str] = ..., fingerprint: _Optional[str] = ..., dimension: _Optional[int] = ..., max_tokens: _Optional[int] = ...) -> None: ...

class ReembeddingInfo(_message.Message):
    __slots__ = ("memory_count", "memories_left", "users_left", "users_held_back")
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_LEFT_FIELD_NUMBER: _ClassVar[int]
    USERS_LEFT_FIELD_NUMBER: _ClassVar[int]
    USERS_HELD_BACK_FIELD_NUMBER: _ClassVar[int]
    memory_count: int
    memories_left: int
    users_left: int
    users_held_back: int
    def __init__(self, memory_count: _Optional[int] = ..., memories_left: _Optional[int] = ..., users_left: _Optional[int] = ..., users_held_back: _Optional[int] = ...) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "api_revision", "capabilities", "limits", "embedder", "tokenizers", "start_time", "test_clock", "reembedding")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    API_REVISION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    TOKENIZERS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    TEST_CLOCK_FIELD_NUMBER: _ClassVar[int]
    REEMBEDDING_FIELD_NUMBER: _ClassVar[int]
    version: str
    api_revision: int
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    limits: _containers.RepeatedCompositeFieldContainer[Limit]
    embedder: EmbedderInfo
    tokenizers: _containers.RepeatedScalarFieldContainer[str]
    start_time: _timestamp_pb2.Timestamp
    test_clock: bool
    reembedding: ReembeddingInfo
    def __init__(self, version: _Optional[str] = ..., api_revision: _Optional[int] = ..., capabilities: _Optional[_Iterable[str]] = ..., limits: _Optional[_Iterable[_Union[Limit, _Mapping]]] = ..., embedder: _Optional[_Union[EmbedderInfo, _Mapping]] = ..., tokenizers: _Optional[_Iterable[str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., test_clock: bool = ..., reembedding: _Optional[_Union[ReembeddingInfo, _Mapping]] = ...) -> None: ...

class GetStatsRequest(_message.Message):
    __slots__ = ("scope",)
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ...) -> None: ...

class StatusCount(_message.Message):
    __slots__ = ("status", "count")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    status: _types_pb2.MemoryStatus
    count: int
    def __init__(self, status: _Optional[_Union[_types_pb2.MemoryStatus, str]] = ..., count: _Optional[int] = ...) -> None: ...

class KindCount(_message.Message):
    __slots__ = ("kind", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: _types_pb2.MemoryKind
    count: int
    def __init__(self, kind: _Optional[_Union[_types_pb2.MemoryKind, str]] = ..., count: _Optional[int] = ...) -> None: ...

class GetStatsResponse(_message.Message):
    __slots__ = ("memory_count", "statuses", "kinds", "user_count", "revision", "data_bytes", "rss_bytes", "uptime")
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    USER_COUNT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    UPTIME_FIELD_NUMBER: _ClassVar[int]
    memory_count: int
    statuses: _containers.RepeatedCompositeFieldContainer[StatusCount]
    kinds: _containers.RepeatedCompositeFieldContainer[KindCount]
    user_count: int
    revision: int
    data_bytes: int
    rss_bytes: int
    uptime: _duration_pb2.Duration
    def __init__(self, memory_count: _Optional[int] = ..., statuses: _Optional[_Iterable[_Union[StatusCount, _Mapping]]] = ..., kinds: _Optional[_Iterable[_Union[KindCount, _Mapping]]] = ..., user_count: _Optional[int] = ..., revision: _Optional[int] = ..., data_bytes: _Optional[int] = ..., rss_bytes: _Optional[int] = ..., uptime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("name", "state", "create_time", "revision", "memory_count", "size_bytes", "embedder_fingerprint", "error")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: SnapshotState
    create_time: _timestamp_pb2.Timestamp
    revision: int
    memory_count: int
    size_bytes: int
    embedder_fingerprint: str
    error: _status_pb2.Status
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[SnapshotState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ..., memory_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., embedder_fingerprint: _Optional[str] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class CreateSnapshotRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CreateSnapshotResponse(_message.Message):
    __slots__ = ("snapshot",)
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    snapshot: Snapshot
    def __init__(self, snapshot: _Optional[_Union[Snapshot, _Mapping]] = ...) -> None: ...

class ListSnapshotsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSnapshotsResponse(_message.Message):
    __slots__ = ("snapshots",)
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    snapshots: _containers.RepeatedCompositeFieldContainer[Snapshot]
    def __init__(self, snapshots: _Optional[_Iterable[_Union[Snapshot, _Mapping]]] = ...) -> None: ...

class VerifySnapshotRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class VerifySnapshotResponse(_message.Message):
    __slots__ = ("ok", "violations")
    OK_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    ok: bool
    violations: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ok: bool = ..., violations: _Optional[_Iterable[str]] = ...) -> None: ...

class RestoreSnapshotRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RestoreSnapshotResponse(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class DeleteSnapshotRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteSnapshotResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConsolidateRequest(_message.Message):
    __slots__ = ("scope", "dry_run")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    dry_run: bool
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., dry_run: bool = ...) -> None: ...

class ConsolidateAction(_message.Message):
    __slots__ = ("action", "memory_ids", "reason")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    def __init__(self, action: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ...) -> None: ...

class ConsolidateResponse(_message.Message):
    __slots__ = ("actions", "revision")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedCompositeFieldContainer[ConsolidateAction]
    revision: int
    def __init__(self, actions: _Optional[_Iterable[_Union[ConsolidateAction, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class LinkIdentityRequest(_message.Message):
    __slots__ = ("user_id", "alias_user_ids", "unlink", "request_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ALIAS_USER_IDS_FIELD_NUMBER: _ClassVar[int]
    UNLINK_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    alias_user_ids: _containers.RepeatedScalarFieldContainer[str]
    unlink: bool
    request_id: str
    def __init__(self, user_id: _Optional[str] = ..., alias_user_ids: _Optional[_Iterable[str]] = ..., unlink: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class LinkIdentityResponse(_message.Message):
    __slots__ = ("user_ids", "revision")
    USER_IDS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    user_ids: _containers.RepeatedScalarFieldContainer[str]
    revision: int
    def __init__(self, user_ids: _Optional[_Iterable[str]] = ..., revision: _Optional[int] = ...) -> None: ...

class OpenSealedRequest(_message.Message):
    __slots__ = ("scope", "id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., id: _Optional[str] = ...) -> None: ...

class SealedValue(_message.Message):
    __slots__ = ("placeholder", "sensitive_class", "text")
    PLACEHOLDER_FIELD_NUMBER: _ClassVar[int]
    SENSITIVE_CLASS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    placeholder: str
    sensitive_class: _types_pb2.SensitiveClass
    text: str
    def __init__(self, placeholder: _Optional[str] = ..., sensitive_class: _Optional[_Union[_types_pb2.SensitiveClass, str]] = ..., text: _Optional[str] = ...) -> None: ...

class OpenSealedResponse(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[SealedValue]
    def __init__(self, values: _Optional[_Iterable[_Union[SealedValue, _Mapping]]] = ...) -> None: ...
