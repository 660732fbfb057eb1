import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from recalld.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AppendTurnsRequest(_message.Message):
    __slots__ = ("scope", "turns", "extract", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    EXTRACT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    turns: _containers.RepeatedCompositeFieldContainer[_types_pb2.Turn]
    extract: bool
    request_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[_types_pb2.Turn, _Mapping]]] = ..., extract: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class AppendTurnsResponse(_message.Message):
    __slots__ = ("turn_count", "revision")
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    turn_count: int
    revision: int
    def __init__(self, turn_count: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...

class ListTurnsRequest(_message.Message):
    __slots__ = ("scope", "limit")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    limit: int
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class ListTurnsResponse(_message.Message):
    __slots__ = ("turns", "summary")
    TURNS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    turns: _containers.RepeatedCompositeFieldContainer[_types_pb2.Turn]
    summary: str
    def __init__(self, turns: _Optional[_Iterable[_Union[_types_pb2.Turn, _Mapping]]] = ..., summary: _Optional[str] = ...) -> None: ...

class WorkingItem(_message.Message):
    __slots__ = ("name", "content", "value", "expire_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    content: str
    value: _struct_pb2.Struct
    expire_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., content: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PutWorkingItemRequest(_message.Message):
    __slots__ = ("scope", "item", "ttl", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    item: WorkingItem
    ttl: _duration_pb2.Duration
    request_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., item: _Optional[_Union[WorkingItem, _Mapping]] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutWorkingItemResponse(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class ListWorkingItemsRequest(_message.Message):
    __slots__ = ("scope",)
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ...) -> None: ...

class ListWorkingItemsResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[WorkingItem]
    def __init__(self, items: _Optional[_Iterable[_Union[WorkingItem, _Mapping]]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("scope", "archive", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    archive: bool
    request_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., archive: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ("archived_ids", "revision")
    ARCHIVED_IDS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    archived_ids: _containers.RepeatedScalarFieldContainer[str]
    revision: int
    def __init__(self, archived_ids: _Optional[_Iterable[str]] = ..., revision: _Optional[int] = ...) -> None: ...
