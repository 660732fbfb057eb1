"""Names of client certificates and whom they stand for: a TOML file, kept by hand.

    [[client]]
    identity = "spiffe://example.org/ns/agents/sa/ada"
    tenant = "ada"
    role = "writer"

A name is compared as a whole with those of a verified certificate: its subject alternative names,
or its common name where it has none. There are no patterns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recalld.server.errors import ConfigError
from recalld.server.permissions import Identity, Role
from recalld.server.token_file import TENANT
from recalld.server.watched_file import read_private

CLIENT_COUNT_MAX = 10_000

Clients = Mapping[str, Identity]
"""Identities by the name in the certificate."""


class _Client(BaseModel):
    """One entry."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    identity: Annotated[str, Field(min_length=1, max_length=2048)]
    tenant: Annotated[str, Field(pattern=f"^{TENANT}$")]
    role: Role


class _Content(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    client: Annotated[tuple[_Client, ...], Field(max_length=CLIENT_COUNT_MAX)] = ()


def read(path: Path) -> Clients:
    """Entries of a file.

    Raises:
        ConfigError: it cannot be read, is open to others, or an entry is malformed or doubled;
            names file and field.
    """
    try:
        content = _Content.model_validate(tomllib.loads(read_private(path).decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{path}: {where}: {first['msg']}") from None
    clients = {one.identity: Identity(one.tenant, one.role) for one in content.client}
    if len(clients) < len(content.client):
        raise ConfigError(f"{path}: client: two have the same identity")
    return clients


def identify(clients: Clients, names: Iterable[bytes]) -> Identity | None:
    """Whom a certificate with these names stands for; None when the file names none of them.

    A certificate that stands for two tenants or roles stands for nobody: which one is meant cannot
    be known.
    """
    found = {clients.get(name.decode("utf-8", "replace")) for name in names} - {None}
    return found.pop() if len(found) == 1 else None
