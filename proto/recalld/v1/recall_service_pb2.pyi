import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from recalld.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Channel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANNEL_UNSPECIFIED: _ClassVar[Channel]
    CHANNEL_VECTOR: _ClassVar[Channel]
    CHANNEL_RELEVANCE: _ClassVar[Channel]
    CHANNEL_KEYWORD: _ClassVar[Channel]
    CHANNEL_KEY: _ClassVar[Channel]
    CHANNEL_ROLE: _ClassVar[Channel]
    CHANNEL_TIME: _ClassVar[Channel]
    CHANNEL_RELATION: _ClassVar[Channel]
    CHANNEL_IDENTIFIER: _ClassVar[Channel]

class Fusion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FUSION_UNSPECIFIED: _ClassVar[Fusion]
    FUSION_WEIGHTED: _ClassVar[Fusion]
    FUSION_RRF: _ClassVar[Fusion]

class ConfidenceBand(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIDENCE_BAND_UNSPECIFIED: _ClassVar[ConfidenceBand]
    CONFIDENCE_BAND_HIGH: _ClassVar[ConfidenceBand]
    CONFIDENCE_BAND_LOW: _ClassVar[ConfidenceBand]

class AbstainReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABSTAIN_REASON_UNSPECIFIED: _ClassVar[AbstainReason]
    ABSTAIN_REASON_NO_MEMORIES: _ClassVar[AbstainReason]
    ABSTAIN_REASON_NO_MATCH: _ClassVar[AbstainReason]
    ABSTAIN_REASON_BELOW_CUT: _ClassVar[AbstainReason]

class DropReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DROP_REASON_UNSPECIFIED: _ClassVar[DropReason]
    DROP_REASON_FILTER: _ClassVar[DropReason]
    DROP_REASON_SUPERSEDED: _ClassVar[DropReason]
    DROP_REASON_EXPIRED: _ClassVar[DropReason]
    DROP_REASON_DUPLICATE: _ClassVar[DropReason]
    DROP_REASON_BELOW_CUT: _ClassVar[DropReason]
    DROP_REASON_OVER_K: _ClassVar[DropReason]
    DROP_REASON_VISIBILITY: _ClassVar[DropReason]
    DROP_REASON_ARCHIVED: _ClassVar[DropReason]
    DROP_REASON_FORGOTTEN: _ClassVar[DropReason]
    DROP_REASON_NOT_YET_KNOWN: _ClassVar[DropReason]
    DROP_REASON_NOT_VALID_THEN: _ClassVar[DropReason]
    DROP_REASON_OVER_BUDGET: _ClassVar[DropReason]
    DROP_REASON_IS_QUERY: _ClassVar[DropReason]
    DROP_REASON_NOT_PROPOSED: _ClassVar[DropReason]

class ContextFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTEXT_FORMAT_UNSPECIFIED: _ClassVar[ContextFormat]
    CONTEXT_FORMAT_MARKDOWN: _ClassVar[ContextFormat]
    CONTEXT_FORMAT_XML: _ClassVar[ContextFormat]
    CONTEXT_FORMAT_JSON: _ClassVar[ContextFormat]

class ContextSection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTEXT_SECTION_UNSPECIFIED: _ClassVar[ContextSection]
    CONTEXT_SECTION_FACTS: _ClassVar[ContextSection]
    CONTEXT_SECTION_PROGRESS: _ClassVar[ContextSection]
    CONTEXT_SECTION_DECISIONS: _ClassVar[ContextSection]
    CONTEXT_SECTION_PREFERENCES: _ClassVar[ContextSection]
    CONTEXT_SECTION_BACKGROUND: _ClassVar[ContextSection]
    CONTEXT_SECTION_POSSIBLY_RELEVANT: _ClassVar[ContextSection]
    CONTEXT_SECTION_CONFLICTS: _ClassVar[ContextSection]
CHANNEL_UNSPECIFIED: Channel
CHANNEL_VECTOR: Channel
CHANNEL_RELEVANCE: Channel
CHANNEL_KEYWORD: Channel
CHANNEL_KEY: Channel
CHANNEL_ROLE: Channel
CHANNEL_TIME: Channel
CHANNEL_RELATION: Channel
CHANNEL_IDENTIFIER: Channel
FUSION_UNSPECIFIED: Fusion
FUSION_WEIGHTED: Fusion
FUSION_RRF: Fusion
CONFIDENCE_BAND_UNSPECIFIED: ConfidenceBand
CONFIDENCE_BAND_HIGH: ConfidenceBand
CONFIDENCE_BAND_LOW: ConfidenceBand
ABSTAIN_REASON_UNSPECIFIED: AbstainReason
ABSTAIN_REASON_NO_MEMORIES: AbstainReason
ABSTAIN_REASON_NO_MATCH: AbstainReason
ABSTAIN_REASON_BELOW_CUT: AbstainReason
DROP_REASON_UNSPECIFIED: DropReason
DROP_REASON_FILTER: DropReason
DROP_REASON_SUPERSEDED: DropReason
DROP_REASON_EXPIRED: DropReason
DROP_REASON_DUPLICATE: DropReason
DROP_REASON_BELOW_CUT: DropReason
DROP_REASON_OVER_K: DropReason
DROP_REASON_VISIBILITY: DropReason
DROP_REASON_ARCHIVED: DropReason
DROP_REASON_FORGOTTEN: DropReason
DROP_REASON_NOT_YET_KNOWN: DropReason
DROP_REASON_NOT_VALID_THEN: DropReason
DROP_REASON_OVER_BUDGET: DropReason
DROP_REASON_IS_QUERY: DropReason
DROP_REASON_NOT_PROPOSED: DropReason
CONTEXT_FORMAT_UNSPECIFIED: ContextFormat
CONTEXT_FORMAT_MARKDOWN: ContextFormat
CONTEXT_FORMAT_XML: ContextFormat
CONTEXT_FORMAT_JSON: ContextFormat
CONTEXT_SECTION_UNSPECIFIED: ContextSection
CONTEXT_SECTION_FACTS: ContextSection
CONTEXT_SECTION_PROGRESS: ContextSection
CONTEXT_SECTION_DECISIONS: ContextSection
CONTEXT_SECTION_PREFERENCES: ContextSection
CONTEXT_SECTION_BACKGROUND: ContextSection
CONTEXT_SECTION_POSSIBLY_RELEVANT: ContextSection
CONTEXT_SECTION_CONFLICTS: ContextSection

class ChannelWeight(_message.Message):
    __slots__ = ("channel", "weight")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    channel: Channel
    weight: float
    def __init__(self, channel: _Optional[_Union[Channel, str]] = ..., weight: _Optional[float] = ...) -> None: ...

class RecallRequest(_message.Message):
    __slots__ = ("scope", "text", "vector", "memory_id", "context", "k", "filter", "kinds", "as_of", "known_at", "include_superseded", "min_score", "min_revision", "shared_user_ids", "channels", "weights", "fusion", "explain", "now")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    SHARED_USER_IDS_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    text: str
    vector: _types_pb2.Vector
    memory_id: str
    context: _containers.RepeatedCompositeFieldContainer[_types_pb2.Turn]
    k: int
    filter: _types_pb2.Filter
    kinds: _containers.RepeatedScalarFieldContainer[_types_pb2.MemoryKind]
    as_of: _timestamp_pb2.Timestamp
    known_at: _timestamp_pb2.Timestamp
    include_superseded: bool
    min_score: float
    min_revision: int
    shared_user_ids: _containers.RepeatedScalarFieldContainer[str]
    channels: _containers.RepeatedScalarFieldContainer[Channel]
    weights: _containers.RepeatedCompositeFieldContainer[ChannelWeight]
    fusion: Fusion
    explain: bool
    now: _timestamp_pb2.Timestamp
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., text: _Optional[str] = ..., vector: _Optional[_Union[_types_pb2.Vector, _Mapping]] = ..., memory_id: _Optional[str] = ..., context: _Optional[_Iterable[_Union[_types_pb2.Turn, _Mapping]]] = ..., k: _Optional[int] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., kinds: _Optional[_Iterable[_Union[_types_pb2.MemoryKind, str]]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., include_superseded: bool = ..., min_score: _Optional[float] = ..., min_revision: _Optional[int] = ..., shared_user_ids: _Optional[_Iterable[str]] = ..., channels: _Optional[_Iterable[_Union[Channel, str]]] = ..., weights: _Optional[_Iterable[_Union[ChannelWeight, _Mapping]]] = ..., fusion: _Optional[_Union[Fusion, str]] = ..., explain: bool = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ChannelScore(_message.Message):
    __slots__ = ("channel", "raw", "normalised", "weight")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    NORMALISED_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    channel: Channel
    raw: float
    normalised: float
    weight: float
    def __init__(self, channel: _Optional[_Union[Channel, str]] = ..., raw: _Optional[float] = ..., normalised: _Optional[float] = ..., weight: _Optional[float] = ...) -> None: ...

class ScoreParts(_message.Message):
    __slots__ = ("channels", "fusion", "base", "decay", "importance", "confidence", "bias")
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    DECAY_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    BIAS_FIELD_NUMBER: _ClassVar[int]
    channels: _containers.RepeatedCompositeFieldContainer[ChannelScore]
    fusion: Fusion
    base: float
    decay: float
    importance: float
    confidence: float
    bias: float
    def __init__(self, channels: _Optional[_Iterable[_Union[ChannelScore, _Mapping]]] = ..., fusion: _Optional[_Union[Fusion, str]] = ..., base: _Optional[float] = ..., decay: _Optional[float] = ..., importance: _Optional[float] = ..., confidence: _Optional[float] = ..., bias: _Optional[float] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("memory", "score", "band", "parts", "reasons")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    BAND_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    score: float
    band: ConfidenceBand
    parts: ScoreParts
    reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., score: _Optional[float] = ..., band: _Optional[_Union[ConfidenceBand, str]] = ..., parts: _Optional[_Union[ScoreParts, _Mapping]] = ..., reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class Conflict(_message.Message):
    __slots__ = ("conflict_group", "memory_ids")
    CONFLICT_GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    conflict_group: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, conflict_group: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ExcludedCount(_message.Message):
    __slots__ = ("reason", "count")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    reason: DropReason
    count: int
    def __init__(self, reason: _Optional[_Union[DropReason, str]] = ..., count: _Optional[int] = ...) -> None: ...

class Timings(_message.Message):
    __slots__ = ("total", "embed", "search")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    EMBED_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    total: _duration_pb2.Duration
    embed: _duration_pb2.Duration
    search: _duration_pb2.Duration
    def __init__(self, total: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., embed: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., search: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("recall_id", "hits", "abstained", "abstain_reason", "conflicts", "revision", "degraded", "timings", "situation", "excluded")
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    ABSTAINED_FIELD_NUMBER: _ClassVar[int]
    ABSTAIN_REASON_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    SITUATION_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    abstained: bool
    abstain_reason: AbstainReason
    conflicts: _containers.RepeatedCompositeFieldContainer[Conflict]
    revision: int
    degraded: _containers.RepeatedScalarFieldContainer[str]
    timings: Timings
    situation: str
    excluded: _containers.RepeatedCompositeFieldContainer[ExcludedCount]
    def __init__(self, recall_id: _Optional[str] = ..., hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., abstained: bool = ..., abstain_reason: _Optional[_Union[AbstainReason, str]] = ..., conflicts: _Optional[_Iterable[_Union[Conflict, _Mapping]]] = ..., revision: _Optional[int] = ..., degraded: _Optional[_Iterable[str]] = ..., timings: _Optional[_Union[Timings, _Mapping]] = ..., situation: _Optional[str] = ..., excluded: _Optional[_Iterable[_Union[ExcludedCount, _Mapping]]] = ...) -> None: ...

class BatchRecallRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[RecallRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[RecallRequest, _Mapping]]] = ...) -> None: ...

class BatchRecallResponse(_message.Message):
    __slots__ = ("responses",)
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[RecallResponse]
    def __init__(self, responses: _Optional[_Iterable[_Union[RecallResponse, _Mapping]]] = ...) -> None: ...

class BuildContextRequest(_message.Message):
    __slots__ = ("recall", "token_budget", "tokenizer", "format", "language")
    RECALL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    recall: RecallRequest
    token_budget: int
    tokenizer: str
    format: ContextFormat
    language: str
    def __init__(self, recall: _Optional[_Union[RecallRequest, _Mapping]] = ..., token_budget: _Optional[int] = ..., tokenizer: _Optional[str] = ..., format: _Optional[_Union[ContextFormat, str]] = ..., language: _Optional[str] = ...) -> None: ...

class ContextItem(_message.Message):
    __slots__ = ("memory_id", "section", "text", "token_count", "score", "band")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SECTION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    BAND_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    section: ContextSection
    text: str
    token_count: int
    score: float
    band: ConfidenceBand
    def __init__(self, memory_id: _Optional[str] = ..., section: _Optional[_Union[ContextSection, str]] = ..., text: _Optional[str] = ..., token_count: _Optional[int] = ..., score: _Optional[float] = ..., band: _Optional[_Union[ConfidenceBand, str]] = ...) -> None: ...

class OmittedItem(_message.Message):
    __slots__ = ("memory_id", "reason", "token_count")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    reason: DropReason
    token_count: int
    def __init__(self, memory_id: _Optional[str] = ..., reason: _Optional[_Union[DropReason, str]] = ..., token_count: _Optional[int] = ...) -> None: ...

class BuildContextResponse(_message.Message):
    __slots__ = ("text", "token_count", "tokenizer", "items", "omitted", "recall", "complete")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    text: str
    token_count: int
    tokenizer: str
    items: _containers.RepeatedCompositeFieldContainer[ContextItem]
    omitted: _containers.RepeatedCompositeFieldContainer[OmittedItem]
    recall: RecallResponse
    complete: bool
    def __init__(self, text: _Optional[str] = ..., token_count: _Optional[int] = ..., tokenizer: _Optional[str] = ..., items: _Optional[_Iterable[_Union[ContextItem, _Mapping]]] = ..., omitted: _Optional[_Iterable[_Union[OmittedItem, _Mapping]]] = ..., recall: _Optional[_Union[RecallResponse, _Mapping]] = ..., complete: bool = ...) -> None: ...

class GetRecallTraceRequest(_message.Message):
    __slots__ = ("scope", "recall_id", "memory_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    recall_id: str
    memory_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., recall_id: _Optional[str] = ..., memory_id: _Optional[str] = ...) -> None: ...

class TraceCandidate(_message.Message):
    __slots__ = ("memory_id", "rank", "score", "parts", "drop_reason", "recomputed", "changed_since")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    DROP_REASON_FIELD_NUMBER: _ClassVar[int]
    RECOMPUTED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_SINCE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    rank: int
    score: float
    parts: ScoreParts
    drop_reason: DropReason
    recomputed: bool
    changed_since: bool
    def __init__(self, memory_id: _Optional[str] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ..., parts: _Optional[_Union[ScoreParts, _Mapping]] = ..., drop_reason: _Optional[_Union[DropReason, str]] = ..., recomputed: bool = ..., changed_since: bool = ...) -> None: ...

class RecallTrace(_message.Message):
    __slots__ = ("recall_id", "time", "candidates", "revision", "config_hash", "excluded", "matched_count", "returned_count", "k", "min_score", "shared_user_ids", "degraded")
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_HASH_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    MATCHED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RETURNED_COUNT_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    SHARED_USER_IDS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    time: _timestamp_pb2.Timestamp
    candidates: _containers.RepeatedCompositeFieldContainer[TraceCandidate]
    revision: int
    config_hash: str
    excluded: _containers.RepeatedCompositeFieldContainer[ExcludedCount]
    matched_count: int
    returned_count: int
    k: int
    min_score: float
    shared_user_ids: _containers.RepeatedScalarFieldContainer[str]
    degraded: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, recall_id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., candidates: _Optional[_Iterable[_Union[TraceCandidate, _Mapping]]] = ..., revision: _Optional[int] = ..., config_hash: _Optional[str] = ..., excluded: _Optional[_Iterable[_Union[ExcludedCount, _Mapping]]] = ..., matched_count: _Optional[int] = ..., returned_count: _Optional[int] = ..., k: _Optional[int] = ..., min_score: _Optional[float] = ..., shared_user_ids: _Optional[_Iterable[str]] = ..., degraded: _Optional[_Iterable[str]] = ...) -> None: ...

class GetRecallTraceResponse(_message.Message):
    __slots__ = ("trace",)
    TRACE_FIELD_NUMBER: _ClassVar[int]
    trace: RecallTrace
    def __init__(self, trace: _Optional[_Union[RecallTrace, _Mapping]] = ...) -> None: ...

class ListRecallTracesRequest(_message.Message):
    __slots__ = ("scope", "page_size", "page_token")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    page_size: int
    page_token: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRecallTracesResponse(_message.Message):
    __slots__ = ("traces", "next_page_token")
    TRACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    traces: _containers.RepeatedCompositeFieldContainer[RecallTrace]
    next_page_token: str
    def __init__(self, traces: _Optional[_Iterable[_Union[RecallTrace, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ReportUsageRequest(_message.Message):
    __slots__ = ("scope", "recall_id", "used", "helpful", "corrected", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    HELPFUL_FIELD_NUMBER: _ClassVar[int]
    CORRECTED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _types_pb2.Scope
    recall_id: str
    used: _containers.RepeatedScalarFieldContainer[str]
    helpful: bool
    corrected: _containers.RepeatedScalarFieldContainer[str]
    request_id: str
    def __init__(self, scope: _Optional[_Union[_types_pb2.Scope, _Mapping]] = ..., recall_id: _Optional[str] = ..., used: _Optional[_Iterable[str]] = ..., helpful: bool = ..., corrected: _Optional[_Iterable[str]] = ..., request_id: _Optional[str] = ...) -> None: ...

class ReportUsageResponse(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...
