import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
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

class RememberOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REMEMBER_OUTCOME_UNSPECIFIED: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_CREATED: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_REFRESHED: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_CONFLICT: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_REJECTED_SENSITIVE: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL: _ClassVar[RememberOutcome]
    REMEMBER_OUTCOME_REJECTED_PURGED: _ClassVar[RememberOutcome]

class ForgetMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORGET_MODE_UNSPECIFIED: _ClassVar[ForgetMode]
    FORGET_MODE_SOFT: _ClassVar[ForgetMode]
    FORGET_MODE_PURGE: _ClassVar[ForgetMode]
    FORGET_MODE_UNDO: _ClassVar[ForgetMode]
REMEMBER_OUTCOME_UNSPECIFIED: RememberOutcome
REMEMBER_OUTCOME_CREATED: RememberOutcome
REMEMBER_OUTCOME_REFRESHED: RememberOutcome
REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS: RememberOutcome
REMEMBER_OUTCOME_CONFLICT: RememberOutcome
REMEMBER_OUTCOME_REJECTED_SENSITIVE: RememberOutcome
REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL: RememberOutcome
REMEMBER_OUTCOME_REJECTED_PURGED: RememberOutcome
FORGET_MODE_UNSPECIFIED: ForgetMode
FORGET_MODE_SOFT: ForgetMode
FORGET_MODE_PURGE: ForgetMode
FORGET_MODE_UNDO: ForgetMode

class MemoryInput(_message.Message):
    __slots__ = ("memory", "vector", "vector_fingerprint")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    vector: _types_pb2.Vector
    vector_fingerprint: str
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., vector: _Optional[_Union[_types_pb2.Vector, _Mapping]] = ..., vector_fingerprint: _Optional[str] = ...) -> None: ...

class RememberRequest(_message.Message):
    __slots__ = ("scope", "memories", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    memories: _containers.RepeatedCompositeFieldContainer[MemoryInput]
    request_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[MemoryInput, _Mapping]]] = ..., request_id: _Optional[str] = ...) -> None: ...

class RememberResult(_message.Message):
    __slots__ = ("id", "outcome", "superseded_ids", "conflicting_ids", "etag")
    ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_IDS_FIELD_NUMBER: _ClassVar[int]
    CONFLICTING_IDS_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    id: str
    outcome: RememberOutcome
    superseded_ids: _containers.RepeatedScalarFieldContainer[str]
    conflicting_ids: _containers.RepeatedScalarFieldContainer[str]
    etag: str
    def __init__(self, id: _Optional[str] = ..., outcome: _Optional[_Union[RememberOutcome, str]] = ..., superseded_ids: _Optional[_Iterable[str]] = ..., conflicting_ids: _Optional[_Iterable[str]] = ..., etag: _Optional[str] = ...) -> None: ...

class RememberResponse(_message.Message):
    __slots__ = ("results", "revision")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RememberResult]
    revision: int
    def __init__(self, results: _Optional[_Iterable[_Union[RememberResult, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class GetMemoryRequest(_message.Message):
    __slots__ = ("scope", "id", "key")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    id: str
    key: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., id: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class GetMemoryResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("scope", "filter", "statuses", "page_size", "page_token")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    filter: _types_pb2.Filter
    statuses: _containers.RepeatedScalarFieldContainer[_types_pb2.MemoryStatus]
    page_size: int
    page_token: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., statuses: _Optional[_Iterable[_Union[_types_pb2.MemoryStatus, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("memories", "next_page_token", "total_size")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    next_page_token: str
    total_size: int
    def __init__(self, memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class ListKeysRequest(_message.Message):
    __slots__ = ("scope", "prefix", "page_size", "page_token")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    prefix: str
    page_size: int
    page_token: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class KeyEntry(_message.Message):
    __slots__ = ("key", "kind", "count", "newest_time")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    NEWEST_TIME_FIELD_NUMBER: _ClassVar[int]
    key: str
    kind: _types_pb2.MemoryKind
    count: int
    newest_time: _timestamp_pb2.Timestamp
    def __init__(self, key: _Optional[str] = ..., kind: _Optional[_Union[_types_pb2.MemoryKind, str]] = ..., count: _Optional[int] = ..., newest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListKeysResponse(_message.Message):
    __slots__ = ("keys", "next_page_token")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[KeyEntry]
    next_page_token: str
    def __init__(self, keys: _Optional[_Iterable[_Union[KeyEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateMemoryRequest(_message.Message):
    __slots__ = ("memory", "update_mask", "etag", "request_id")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    update_mask: _field_mask_pb2.FieldMask
    etag: str
    request_id: str
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateMemoryResponse(_message.Message):
    __slots__ = ("memory", "revision")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    revision: int
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class IdSet(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("scope", "ids", "key", "filter", "all", "content", "mode", "dry_run", "etag", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    ids: IdSet
    key: str
    filter: _types_pb2.Filter
    all: bool
    content: str
    mode: ForgetMode
    dry_run: bool
    etag: str
    request_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., ids: _Optional[_Union[IdSet, _Mapping]] = ..., key: _Optional[str] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., all: bool = ..., content: _Optional[str] = ..., mode: _Optional[_Union[ForgetMode, str]] = ..., dry_run: bool = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForgetResponse(_message.Message):
    __slots__ = ("count", "ids", "revision", "receipt")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    count: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    revision: int
    receipt: PurgeReceipt
    def __init__(self, count: _Optional[int] = ..., ids: _Optional[_Iterable[str]] = ..., revision: _Optional[int] = ..., receipt: _Optional[_Union[PurgeReceipt, _Mapping]] = ...) -> None: ...

class PurgeReceipt(_message.Message):
    __slots__ = ("id", "time", "row_count", "snapshot_count", "verified_file_count")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_COUNT_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FILE_COUNT_FIELD_NUMBER: _ClassVar[int]
    id: str
    time: _timestamp_pb2.Timestamp
    row_count: int
    snapshot_count: int
    verified_file_count: int
    def __init__(self, id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., row_count: _Optional[int] = ..., snapshot_count: _Optional[int] = ..., verified_file_count: _Optional[int] = ...) -> None: ...

class ResolveConflictRequest(_message.Message):
    __slots__ = ("scope", "conflict_group", "winner_id", "keep_all", "undo", "request_id", "etag")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_GROUP_FIELD_NUMBER: _ClassVar[int]
    WINNER_ID_FIELD_NUMBER: _ClassVar[int]
    KEEP_ALL_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    conflict_group: str
    winner_id: str
    keep_all: bool
    undo: bool
    request_id: str
    etag: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., conflict_group: _Optional[str] = ..., winner_id: _Optional[str] = ..., keep_all: bool = ..., undo: bool = ..., request_id: _Optional[str] = ..., etag: _Optional[str] = ...) -> None: ...

class ResolveConflictResponse(_message.Message):
    __slots__ = ("memories", "revision")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    revision: int
    def __init__(self, memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class IngestRequest(_message.Message):
    __slots__ = ("sequence", "scope", "memories", "request_id")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    scope: _types_pb2.Scope
    memories: _containers.RepeatedCompositeFieldContainer[MemoryInput]
    request_id: str
    def __init__(self, sequence: _Optional[int] = ..., scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[MemoryInput, _Mapping]]] = ..., request_id: _Optional[str] = ...) -> None: ...

class IngestResponse(_message.Message):
    __slots__ = ("acked_sequence", "window", "results", "errors", "shutting_down")
    ACKED_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    SHUTTING_DOWN_FIELD_NUMBER: _ClassVar[int]
    acked_sequence: int
    window: int
    results: _containers.RepeatedCompositeFieldContainer[RememberResult]
    errors: _containers.RepeatedCompositeFieldContainer[IngestError]
    shutting_down: bool
    def __init__(self, acked_sequence: _Optional[int] = ..., window: _Optional[int] = ..., results: _Optional[_Iterable[_Union[RememberResult, _Mapping]]] = ..., errors: _Optional[_Iterable[_Union[IngestError, _Mapping]]] = ..., shutting_down: bool = ...) -> None: ...

class IngestError(_message.Message):
    __slots__ = ("index", "status")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    index: int
    status: _status_pb2.Status
    def __init__(self, index: _Optional[int] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class ExportMemoriesRequest(_message.Message):
    __slots__ = ("scope", "filter", "statuses", "include_vectors")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    filter: _types_pb2.Filter
    statuses: _containers.RepeatedScalarFieldContainer[_types_pb2.MemoryStatus]
    include_vectors: bool
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., statuses: _Optional[_Iterable[_Union[_types_pb2.MemoryStatus, str]]] = ..., include_vectors: bool = ...) -> None: ...

class ExportMemoriesResponse(_message.Message):
    __slots__ = ("memory", "vector", "vector_fingerprint")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    vector: _types_pb2.Vector
    vector_fingerprint: str
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., vector: _Optional[_Union[_types_pb2.Vector, _Mapping]] = ..., vector_fingerprint: _Optional[str] = ...) -> None: ...
