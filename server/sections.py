"""The settings by section: defaults, ranges and what each is for.

Sections are frozen and refuse settings that they do not know. They read nothing.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator

from recalld.scoring.params import WEIGHT_MAX
from recalld.server import listening

PORT_MAX = 65_535


def zone_of(name: str) -> tzinfo:
    """A time zone by its name; UTC needs no data of the machine.

    Raises:
        KeyError, ValueError, OSError: this machine knows none of this name.
    """
    return UTC if name == "UTC" else ZoneInfo(name)


class Section(BaseModel):
    """Base of the sections: frozen, unknown settings refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ServerSection(Section):
    """Listening, threads and queues."""

    listen: str = Field("127.0.0.1:7600", description="address: host:port, [v6]:port or unix:/path")
    metrics_listen: str = Field("", description="host:port of the Prometheus page; empty: off")
    reflection: bool = Field(True, description="serve gRPC reflection")
    workers: Annotated[int, Field(ge=1, le=64)] = Field(2, description="threads for native stages")
    memory_max_mb: Annotated[int, Field(ge=1, le=16_777_216)] = Field(
        1024, description="memories of users kept in memory, MiB; the least used are loaded anew"
    )
    in_flight_max: Annotated[int, Field(ge=1, le=100_000)] = Field(
        512, description="calls at once; more are refused with RESOURCE_EXHAUSTED"
    )
    drain_s: Annotated[float, Field(ge=0, le=600)] = Field(
        10.0, description="seconds that calls in flight may take after SIGTERM"
    )
    test_clock: bool = Field(False, description="callers may set the clock (metadata recalld-now)")
    socket_mode: Literal["0600", "0660"] = Field(
        "0600", description="who may use a Unix socket: its user, or its group too"
    )
    allow_insecure: bool = Field(
        False, description="listen beyond this machine without credentials or without TLS"
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, value: str) -> str:
        """An address that gRPC takes for what it says."""
        problem = listening.problem_of(value)
        if problem:
            raise ValueError(f"{value!r} {problem}")
        return value

    @field_validator("metrics_listen")
    @classmethod
    def _address(cls, value: str) -> str:
        """Empty, or a host and a port."""
        _, colon, port = value.rpartition(":")
        if value and not (colon and port.isdecimal() and int(port) <= PORT_MAX):
            raise ValueError("must be host:port, or empty")
        return value


class AuthSection(Section):
    """Credentials of callers."""

    required: bool = Field(
        False, description="callers need a credential; off: everybody is admin of tenant default"
    )
    tokens_file: Path | None = Field(
        None, description="hashes of bearer tokens; unset: tokens.json in the data directory"
    )
    client_identities_file: Path | None = Field(
        None, description="tenants and roles of client certificates by name (TOML)"
    )


class TlsSection(Section):
    """Certificates, as PEM files; read again when they change."""

    cert_file: Path | None = Field(
        None, description="the server's certificate chain; unset: no TLS"
    )
    key_file: Path | None = Field(None, description="its private key")
    client_ca_file: Path | None = Field(
        None,
        description="callers need a certificate of these authorities; unset: none is asked for",
    )


class QuotasSection(Section):
    """What each tenant may use."""

    calls_per_s: Annotated[float, Field(ge=0, le=1_000_000)] = Field(
        0.0, description="calls a second of a tenant, as many at once; 0: no quota"
    )
    memories_max: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        0, description="memories of a tenant, of any status; 0: no quota"
    )


class StorageSection(Section):
    """The data directory."""

    data_dir: Path = Field(Path("recalld-data"), description="directory of the one data set")
    memory_limit_mb: Annotated[int, Field(ge=64, le=1_048_576)] = Field(
        512, description="DuckDB's own memory, MiB"
    )


class EmbedderSection(Section):
    """The embedding model."""

    kind: Literal["onnx", "fast", "hash"] = Field(
        "onnx",
        description="onnx: the default model, or that of model_dir; fast: the one that "
        "`make model-fast` builds; hash: model-free, for tests",
    )
    model_dir: Path | None = Field(
        None, description="model folder of kind = onnx; unset: the one `make model` builds"
    )
    previous_dir: Path | None = Field(
        None,
        description="folder of the model before a change, if it is not in the cache folder: it "
        "answers until its memories are embedded anew",
    )
    reembed_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="share of the time that embedding anew after a change may take"
    )
    switch_recall_min: Annotated[float, Field(ge=0, le=1)] = Field(
        0.9,
        description="share of a user's memories that new vectors must find before they are used",
    )
    threads: Annotated[int, Field(ge=1, le=64)] = Field(1, description="onnxruntime threads")
    cache_entries: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        4096, description="texts in the LRU"
    )
    queue_max: Annotated[int, Field(ge=1, le=100_000)] = Field(
        1024, description="texts waiting; more are refused"
    )
    hash_dim: Annotated[int, Field(ge=8, le=4096)] = Field(256, description="width of kind = hash")


class RankingSection(Section):
    """Defaults of a recall; a request can override weights and fusion."""

    fusion: Literal["weighted", "rrf"] = Field(
        "weighted", description="how channels become one score"
    )
    exact_rows_max: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        500_000, description="partitions up to this size are scanned exactly"
    )
    time_zone: str = Field(
        "UTC", description="zone of the words of time, such as Europe/Berlin: when a day begins"
    )
    min_score: Annotated[float | None, Field(ge=0, le=1)] = Field(
        None, description="default cut; unset: the model's own"
    )
    role_weight: Annotated[float, Field(ge=0, le=WEIGHT_MAX)] = Field(
        0.0, description="weight of the role channel where a request names none; 0: off"
    )
    catalogue_file: Path | None = Field(
        None,
        description="own roles, situations and values of keys, on top of the built-in catalogue",
    )

    @field_validator("time_zone")
    @classmethod
    def _zone(cls, value: str) -> str:
        """A zone that this machine knows."""
        try:
            zone_of(value)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{value!r} is no time zone of this machine") from None
        return value

    @property
    def zone(self) -> tzinfo:
        """The zone itself."""
        return zone_of(self.time_zone)


PolicyName = Literal["reject", "redact", "seal", "allow"]


class SensitiveSection(Section):
    """What becomes of sensitive data in a write, by class: docs/SENSITIVE.md."""

    resident_id: PolicyName = Field(
        "reject", description="Chinese resident ids: reject, redact, seal or allow"
    )
    bank_card: PolicyName = Field("reject", description="bank card numbers: the same words")
    phone: PolicyName = Field("redact", description="telephone numbers: the same words")
    email: PolicyName = Field("redact", description="e-mail addresses: the same words")
    api_key: PolicyName = Field(
        "reject", description="API keys, tokens and private keys: the same words"
    )
    password: PolicyName = Field(
        "reject", description="passwords, PINs and one-time codes: the same words"
    )

    @property
    def needs_key(self) -> bool:
        """Whether some class is sealed."""
        return "seal" in self.model_dump().values()


class TracesSection(Section):
    """Traces of recalls: what became of each candidate. They hold no text."""

    sample_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="share of recalls traced beside those that ask for it"
    )
    kept_max: Annotated[int, Field(ge=1, le=100_000)] = Field(
        1_000, description="traces kept of each tenant; the oldest give way"
    )


class SnapshotsSection(Section):
    """Snapshots by schedule; those that are asked for are never removed by it."""

    every_h: Annotated[float, Field(ge=0, le=8_760)] = Field(
        0.0, description="hours between snapshots of the schedule; 0: off"
    )
    kept_max: Annotated[int, Field(ge=1, le=1_000)] = Field(
        7, description="snapshots of the schedule that are kept; the oldest give way"
    )


class LogSection(Section):
    """Logs; they never hold memory text."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least level written"
    )
