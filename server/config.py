"""The one configuration: defaults < TOML file < environment < flags.

The only reader of environment and files.

Sections are frozen. Environment names are `RECALLD_<SECTION>__<SETTING>`; the settings that also
have a flag have a short name besides (`RECALLD_LISTEN`, `RECALLD_DATA_DIR`, `RECALLD_MODEL_DIR`).
Unknown settings are errors.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from recalld.server import listening
from recalld.server.errors import ConfigError
from recalld.server.sealing import key_of
from recalld.server.sections import (
    AuthSection,
    EmbedderSection,
    LogSection,
    QuotasSection,
    RankingSection,
    SensitiveSection,
    ServerSection,
    SnapshotsSection,
    StorageSection,
    TlsSection,
    TracesSection,
)

SHORT_NAMES = {
    "RECALLD_LISTEN": ("server", "listen"),
    "RECALLD_DATA_DIR": ("storage", "data_dir"),
    "RECALLD_MODEL_DIR": ("embedder", "model_dir"),
    "RECALLD_EMBEDDER_KIND": ("embedder", "kind"),
    "RECALLD_LOG_LEVEL": ("log", "level"),
}


SEAL_KEY = "RECALLD_SEAL_KEY"


class Config(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="RECALLD_", env_nested_delimiter="__"
    )

    server: ServerSection = ServerSection()
    auth: AuthSection = AuthSection()
    tls: TlsSection = TlsSection()
    quotas: QuotasSection = QuotasSection()
    storage: StorageSection = StorageSection()
    embedder: EmbedderSection = EmbedderSection()
    ranking: RankingSection = RankingSection()
    sensitive: SensitiveSection = SensitiveSection()
    traces: TracesSection = TracesSection()
    snapshots: SnapshotsSection = SnapshotsSection()
    log: LogSection = LogSection()

    @model_validator(mode="after")
    def _relations(self) -> Config:
        """Check what no single setting can.

        A full queue must never be smaller than one batch of embeddings.
        """
        if self.embedder.queue_max < 256:
            raise ValueError("embedder.queue_max must be at least 256, one Remember batch")
        if self.embedder.kind == "fast" and self.embedder.model_dir is not None:
            raise ValueError(
                "embedder.model_dir: kind = fast has a folder of its own; leave model_dir unset, "
                "or set kind = onnx to load it"
            )
        self._check_tls()
        if not (listening.is_local(self.server.listen) or self.server.allow_insecure):
            lacking = [
                name
                for name, is_there in (
                    ("auth.required", self.auth.required),
                    ("tls.cert_file", self.tls.cert_file is not None),
                )
                if not is_there
            ]
            if lacking:
                raise ValueError(
                    f"server.listen {self.server.listen} is reached from other machines: set "
                    f"{' and '.join(lacking)}, listen on loopback or a Unix socket, or set "
                    "server.allow_insecure where something else keeps strangers out"
                )
        return self

    def _check_tls(self) -> None:
        """Files of certificates that only make sense together."""
        tls = self.tls
        if (tls.cert_file is None) != (tls.key_file is None):
            raise ValueError("tls.cert_file and tls.key_file: set both or none")
        if tls.client_ca_file is not None and tls.cert_file is None:
            raise ValueError("tls.client_ca_file needs tls.cert_file")
        if tls.cert_file is not None and listening.socket_path(self.server.listen) is not None:
            raise ValueError("tls.cert_file: a Unix socket takes no TLS")
        if self.auth.client_identities_file is not None and tls.client_ca_file is None:
            raise ValueError("auth.client_identities_file needs tls.client_ca_file")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take layers only as `load` prepares them: environment is read there, once."""
        return (init_settings,)


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the settings of `above` over `below`, section by section."""
    merged = {
        name: dict(section) if isinstance(section, dict) else section
        for name, section in below.items()
    }
    for name, section in above.items():
        present = merged.get(name, {})
        if not isinstance(section, Mapping):
            merged[name] = section
        elif isinstance(present, dict):
            merged[name] = {**present, **section}
        # Otherwise the layer below has no section here: it stays, and is refused by name.
    return merged


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings named by the environment; other RECALLD_ names (of the clients) are left alone."""
    found: dict[str, Any] = {}
    for short, (section, setting) in SHORT_NAMES.items():
        if environment.get(short):
            found.setdefault(section, {})[setting] = environment[short]
    for name, value in environment.items():
        head, separator, setting = name.partition("__")
        if separator and head.startswith("RECALLD_"):
            found.setdefault(head.removeprefix("RECALLD_").lower(), {})[setting.lower()] = value
    return found


def load(
    *,
    flags: Mapping[str, Mapping[str, Any]] | None = None,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Build the configuration of this process.

    Args:
        flags: settings given on the command line, section -> setting -> value.
        file: TOML file, or None.
        environment: variables; None reads those of the process.

    Raises:
        ConfigError: a setting is unknown, malformed or out of range, or the file cannot be read.
    """
    layers: dict[str, Any] = {}
    if file is not None:
        try:
            layers = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: {error}") from error
    layers = _merge(layers, _from_environment(os.environ if environment is None else environment))
    layers = _merge(layers, flags or {})
    try:
        return Config(**layers)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'config'}: {_problem(item)}"
            for item in error.errors()
        )
        raise ConfigError(problems) from error


def _problem(item: Mapping[str, Any]) -> str:
    """What is wrong with one setting, in the user's words."""
    if item["type"] == "extra_forbidden":
        return "there is no such setting"
    return str(item["msg"]).removeprefix("Value error, ")


def seal_key(config: Config, environment: Mapping[str, str]) -> bytes | None:
    """The key of sealed data, base64 of 256 bits in RECALLD_SEAL_KEY; None when there is none.

    It is no setting: what is in a file or is printed with the settings is no secret.

    Raises:
        ConfigError: it is malformed, or a class is sealed and there is none.
    """
    text = environment.get(SEAL_KEY, "").strip()
    if not text:
        if config.sensitive.needs_key:
            raise ConfigError(f"{SEAL_KEY}: is needed where a class is sealed (section sensitive)")
        return None
    try:
        return key_of(text)
    except ValueError as error:
        raise ConfigError(f"{SEAL_KEY}: {error}") from None


def environment() -> Mapping[str, str]:
    """The variables of this process, for the places of files that depend on them."""
    return os.environ


def to_toml(config: Config) -> str:
    """The configuration as a commented TOML file that `load` takes back."""
    lines: list[str] = []
    for section_name, section in config:
        lines.append(f"[{section_name}]")
        for name, field in type(section).model_fields.items():
            value = getattr(section, name)
            text = _toml_value(value)
            note = f"  # {field.description}"
            lines.append(f"# {name} =" + note if text is None else f"{name} = {text}{note}")
        lines.append("")
    return "\n".join(lines)


def _toml_value(value: object) -> str | None:
    """One scalar in TOML, whose strings are JSON's but for DEL; None for an unset setting."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
