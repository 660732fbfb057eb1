import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_KIND_UNSPECIFIED: _ClassVar[MemoryKind]
    MEMORY_KIND_FACT: _ClassVar[MemoryKind]
    MEMORY_KIND_PREFERENCE: _ClassVar[MemoryKind]
    MEMORY_KIND_STATE: _ClassVar[MemoryKind]
    MEMORY_KIND_EVENT: _ClassVar[MemoryKind]
    MEMORY_KIND_PROGRESS: _ClassVar[MemoryKind]
    MEMORY_KIND_DECISION: _ClassVar[MemoryKind]
    MEMORY_KIND_PROCEDURE: _ClassVar[MemoryKind]
    MEMORY_KIND_DOCUMENT: _ClassVar[MemoryKind]

class Importance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMPORTANCE_UNSPECIFIED: _ClassVar[Importance]
    IMPORTANCE_LOW: _ClassVar[Importance]
    IMPORTANCE_MEDIUM: _ClassVar[Importance]
    IMPORTANCE_HIGH: _ClassVar[Importance]
    IMPORTANCE_PINNED: _ClassVar[Importance]

class StatedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATED_BY_UNSPECIFIED: _ClassVar[StatedBy]
    STATED_BY_USER: _ClassVar[StatedBy]
    STATED_BY_AGENT: _ClassVar[StatedBy]
    STATED_BY_TOOL: _ClassVar[StatedBy]
    STATED_BY_IMPORT: _ClassVar[StatedBy]

class Visibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VISIBILITY_UNSPECIFIED: _ClassVar[Visibility]
    VISIBILITY_SHARED: _ClassVar[Visibility]
    VISIBILITY_PRIVATE: _ClassVar[Visibility]
    VISIBILITY_SYSTEM: _ClassVar[Visibility]

class MemoryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_STATUS_UNSPECIFIED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_ACTIVE: _ClassVar[MemoryStatus]
    MEMORY_STATUS_SUPERSEDED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_CONFLICTED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_EXPIRED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_ARCHIVED: _ClassVar[MemoryStatus]
    MEMORY_STATUS_FORGOTTEN: _ClassVar[MemoryStatus]

class KeyCardinality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_CARDINALITY_UNSPECIFIED: _ClassVar[KeyCardinality]
    KEY_CARDINALITY_ONE: _ClassVar[KeyCardinality]
    KEY_CARDINALITY_MANY: _ClassVar[KeyCardinality]

class SensitiveClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SENSITIVE_CLASS_UNSPECIFIED: _ClassVar[SensitiveClass]
    SENSITIVE_CLASS_RESIDENT_ID: _ClassVar[SensitiveClass]
    SENSITIVE_CLASS_BANK_CARD: _ClassVar[SensitiveClass]
    SENSITIVE_CLASS_PHONE: _ClassVar[SensitiveClass]
    SENSITIVE_CLASS_EMAIL: _ClassVar[SensitiveClass]
    SENSITIVE_CLASS_API_KEY: _ClassVar[SensitiveClass]
    SENSITIVE_CLASS_PASSWORD: _ClassVar[SensitiveClass]

class SensitiveAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SENSITIVE_ACTION_UNSPECIFIED: _ClassVar[SensitiveAction]
    SENSITIVE_ACTION_REDACTED: _ClassVar[SensitiveAction]
    SENSITIVE_ACTION_SEALED: _ClassVar[SensitiveAction]
MEMORY_KIND_UNSPECIFIED: MemoryKind
MEMORY_KIND_FACT: MemoryKind
MEMORY_KIND_PREFERENCE: MemoryKind
MEMORY_KIND_STATE: MemoryKind
MEMORY_KIND_EVENT: MemoryKind
MEMORY_KIND_PROGRESS: MemoryKind
MEMORY_KIND_DECISION: MemoryKind
MEMORY_KIND_PROCEDURE: MemoryKind
MEMORY_KIND_DOCUMENT: MemoryKind
IMPORTANCE_UNSPECIFIED: Importance
IMPORTANCE_LOW: Importance
IMPORTANCE_MEDIUM: Importance
IMPORTANCE_HIGH: Importance
IMPORTANCE_PINNED: Importance
STATED_BY_UNSPECIFIED: StatedBy
STATED_BY_USER: StatedBy
STATED_BY_AGENT: StatedBy
STATED_BY_TOOL: StatedBy
STATED_BY_IMPORT: StatedBy
VISIBILITY_UNSPECIFIED: Visibility
VISIBILITY_SHARED: Visibility
VISIBILITY_PRIVATE: Visibility
VISIBILITY_SYSTEM: Visibility
MEMORY_STATUS_UNSPECIFIED: MemoryStatus
MEMORY_STATUS_ACTIVE: MemoryStatus
MEMORY_STATUS_SUPERSEDED: MemoryStatus
MEMORY_STATUS_CONFLICTED: MemoryStatus
MEMORY_STATUS_EXPIRED: MemoryStatus
MEMORY_STATUS_ARCHIVED: MemoryStatus
MEMORY_STATUS_FORGOTTEN: MemoryStatus
KEY_CARDINALITY_UNSPECIFIED: KeyCardinality
KEY_CARDINALITY_ONE: KeyCardinality
KEY_CARDINALITY_MANY: KeyCardinality
SENSITIVE_CLASS_UNSPECIFIED: SensitiveClass
SENSITIVE_CLASS_RESIDENT_ID: SensitiveClass
SENSITIVE_CLASS_BANK_CARD: SensitiveClass
SENSITIVE_CLASS_PHONE: SensitiveClass
SENSITIVE_CLASS_EMAIL: SensitiveClass
SENSITIVE_CLASS_API_KEY: SensitiveClass
SENSITIVE_CLASS_PASSWORD: SensitiveClass
SENSITIVE_ACTION_UNSPECIFIED: SensitiveAction
SENSITIVE_ACTION_REDACTED: SensitiveAction
SENSITIVE_ACTION_SEALED: SensitiveAction

class Scope(_message.Message):
    __slots__ = ("user_id", "agent_id", "session_id", "namespace")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    agent_id: str
    session_id: str
    namespace: str
    def __init__(self, user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., session_id: _Optional[str] = ..., namespace: _Optional[str] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("session_id", "turn", "message_id", "uri")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    turn: int
    message_id: str
    uri: str
    def __init__(self, session_id: _Optional[str] = ..., turn: _Optional[int] = ..., message_id: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("id", "scope", "kind", "key", "content", "value", "relevant_when", "importance", "confidence", "stated_by", "source", "visibility", "event_time", "valid_from", "valid_to", "create_time", "update_time", "expire_time", "status", "superseded_by", "conflict_group", "access_count", "last_used_time", "language", "metadata", "etag", "revision", "confirm_time", "key_cardinality")
    ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    RELEVANT_WHEN_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    STATED_BY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_GROUP_FIELD_NUMBER: _ClassVar[int]
    ACCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_TIME_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_TIME_FIELD_NUMBER: _ClassVar[int]
    KEY_CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    id: str
    scope: Scope
    kind: MemoryKind
    key: str
    content: str
    value: _struct_pb2.Struct
    relevant_when: _containers.RepeatedScalarFieldContainer[str]
    importance: Importance
    confidence: float
    stated_by: StatedBy
    source: Source
    visibility: Visibility
    event_time: _timestamp_pb2.Timestamp
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    status: MemoryStatus
    superseded_by: str
    conflict_group: str
    access_count: int
    last_used_time: _timestamp_pb2.Timestamp
    language: str
    metadata: _struct_pb2.Struct
    etag: str
    revision: int
    confirm_time: _timestamp_pb2.Timestamp
    key_cardinality: KeyCardinality
    def __init__(self, id: _Optional[str] = ..., scope: _Optional[_Union[Scope, _Mapping]] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., key: _Optional[str] = ..., content: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., relevant_when: _Optional[_Iterable[str]] = ..., importance: _Optional[_Union[Importance, str]] = ..., confidence: _Optional[float] = ..., stated_by: _Optional[_Union[StatedBy, str]] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., visibility: _Optional[_Union[Visibility, str]] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[MemoryStatus, str]] = ..., superseded_by: _Optional[str] = ..., conflict_group: _Optional[str] = ..., access_count: _Optional[int] = ..., last_used_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., language: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., etag: _Optional[str] = ..., revision: _Optional[int] = ..., confirm_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., key_cardinality: _Optional[_Union[KeyCardinality, str]] = ...) -> None: ...

class Vector(_message.Message):
    __slots__ = ("floats", "float32_le")
    FLOATS_FIELD_NUMBER: _ClassVar[int]
    FLOAT32_LE_FIELD_NUMBER: _ClassVar[int]
    floats: FloatVector
    float32_le: bytes
    def __init__(self, floats: _Optional[_Union[FloatVector, _Mapping]] = ..., float32_le: _Optional[bytes] = ...) -> None: ...

class FloatVector(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class TimeRange(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: _timestamp_pb2.Timestamp
    def __init__(self, to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., **kwargs) -> None: ...

class MetadataCondition(_message.Message):
    __slots__ = ("path", "equals", "exists", "range")
    PATH_FIELD_NUMBER: _ClassVar[int]
    EQUALS_FIELD_NUMBER: _ClassVar[int]
    IN_FIELD_NUMBER: _ClassVar[int]
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    path: str
    equals: _struct_pb2.Value
    exists: bool
    range: NumberRange
    def __init__(self, path: _Optional[str] = ..., equals: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., exists: bool = ..., range: _Optional[_Union[NumberRange, _Mapping]] = ..., **kwargs) -> None: ...

class NumberRange(_message.Message):
    __slots__ = ("gte", "gt", "lte", "lt")
    GTE_FIELD_NUMBER: _ClassVar[int]
    GT_FIELD_NUMBER: _ClassVar[int]
    LTE_FIELD_NUMBER: _ClassVar[int]
    LT_FIELD_NUMBER: _ClassVar[int]
    gte: float
    gt: float
    lte: float
    lt: float
    def __init__(self, gte: _Optional[float] = ..., gt: _Optional[float] = ..., lte: _Optional[float] = ..., lt: _Optional[float] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("kind", "key", "key_prefix", "namespace_prefix", "agent_id", "session_id", "source_session_id", "source_uri", "stated_by", "importance", "metadata", "event_time", "create_time", "update_time", "id", "language", "min_confidence")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KEY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_URI_FIELD_NUMBER: _ClassVar[int]
    STATED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    kind: KindSet
    key: StringSet
    key_prefix: str
    namespace_prefix: str
    agent_id: StringSet
    session_id: StringSet
    source_session_id: StringSet
    source_uri: StringSet
    stated_by: StatedBySet
    importance: ImportanceSet
    metadata: MetadataCondition
    event_time: TimeRange
    create_time: TimeRange
    update_time: TimeRange
    id: StringSet
    language: StringSet
    min_confidence: float
    def __init__(self, kind: _Optional[_Union[KindSet, _Mapping]] = ..., key: _Optional[_Union[StringSet, _Mapping]] = ..., key_prefix: _Optional[str] = ..., namespace_prefix: _Optional[str] = ..., agent_id: _Optional[_Union[StringSet, _Mapping]] = ..., session_id: _Optional[_Union[StringSet, _Mapping]] = ..., source_session_id: _Optional[_Union[StringSet, _Mapping]] = ..., source_uri: _Optional[_Union[StringSet, _Mapping]] = ..., stated_by: _Optional[_Union[StatedBySet, _Mapping]] = ..., importance: _Optional[_Union[ImportanceSet, _Mapping]] = ..., metadata: _Optional[_Union[MetadataCondition, _Mapping]] = ..., event_time: _Optional[_Union[TimeRange, _Mapping]] = ..., create_time: _Optional[_Union[TimeRange, _Mapping]] = ..., update_time: _Optional[_Union[TimeRange, _Mapping]] = ..., id: _Optional[_Union[StringSet, _Mapping]] = ..., language: _Optional[_Union[StringSet, _Mapping]] = ..., min_confidence: _Optional[float] = ...) -> None: ...

class KindSet(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[MemoryKind]
    def __init__(self, values: _Optional[_Iterable[_Union[MemoryKind, str]]] = ...) -> None: ...

class StringSet(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class StatedBySet(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[StatedBy]
    def __init__(self, values: _Optional[_Iterable[_Union[StatedBy, str]]] = ...) -> None: ...

class ImportanceSet(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[Importance]
    def __init__(self, values: _Optional[_Iterable[_Union[Importance, str]]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("must", "should", "must_not")
    MUST_FIELD_NUMBER: _ClassVar[int]
    SHOULD_FIELD_NUMBER: _ClassVar[int]
    MUST_NOT_FIELD_NUMBER: _ClassVar[int]
    must: _containers.RepeatedCompositeFieldContainer[Condition]
    should: _containers.RepeatedCompositeFieldContainer[Condition]
    must_not: _containers.RepeatedCompositeFieldContainer[Condition]
    def __init__(self, must: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., should: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., must_not: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("role", "text", "time", "message_id")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    role: str
    text: str
    time: _timestamp_pb2.Timestamp
    message_id: str
    def __init__(self, role: _Optional[str] = ..., text: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., message_id: _Optional[str] = ...) -> None: ...

class ScreenedField(_message.Message):
    __slots__ = ("field", "sensitive_class", "action")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    SENSITIVE_CLASS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    sensitive_class: SensitiveClass
    action: SensitiveAction
    def __init__(self, field: _Optional[str] = ..., sensitive_class: _Optional[_Union[SensitiveClass, str]] = ..., action: _Optional[_Union[SensitiveAction, str]] = ...) -> None: ...
