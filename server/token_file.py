"""Bearer tokens: a JSON file of hashes, never of tokens.

A token is `rcld_<id>_<secret>`; the id finds its row, the SHA-256 of the whole token proves it. The
secret has 256 random bits, so a plain hash is enough: there is nothing to guess.

Invariants: the file has the mode 0600 and is replaced in one step; two commands that change it at
once do so one after the other; a token's text leaves this module once, when it is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from recalld.server import times
from recalld.server.errors import ConfigError
from recalld.server.permissions import Identity, Role
from recalld.server.watched_file import read_private
from recalld.storage.fsio import Files

TOKEN_COUNT_MAX = 10_000
SECRET_BYTES = 32
ID_BYTES = 6
TENANT = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
SHAPE = re.compile(r"rcld_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
NO_HASH = "0" * 64


class Token(BaseModel):
    """One row of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    tenant: Annotated[str, Field(pattern=f"^{TENANT}$")]
    role: Role
    name: Annotated[str, Field(max_length=256)] = ""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    create_time: AwareDatetime
    expire_time: AwareDatetime | None = None

    def has_expired(self, now_us: int) -> bool:
        """Whether it counts no longer."""
        end = self.expire_time
        return end is not None and (end - times.EPOCH) // times.MICROSECOND <= now_us


class _Content(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    tokens: Annotated[tuple[Token, ...], Field(max_length=TOKEN_COUNT_MAX)] = ()


Tokens = dict[str, Token]
"""Rows by id, in the order of the file."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a new token is to be.

    Attributes:
        tenant: 1 to 64 characters of A-Z a-z 0-9 . _ -
        role: what it may do.
        name: for people; up to 256 characters.
        lifetime: None = it never expires.
    """

    tenant: str
    role: Role
    name: str = ""
    lifetime: timedelta | None = None


def read(path: Path) -> Tokens:
    """Rows of a file.

    Raises:
        ConfigError: it cannot be read, is open to others, or is no such file; names file and field.
    """
    try:
        content = _Content.model_validate_json(read_private(path))
    except ValidationError as error:
        # Only place and kind of the fault: the input itself holds hashes.
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise ConfigError(f"{path}: {where}: {first['msg']}") from None
    rows = {token.id: token for token in content.tokens}
    if len(rows) < len(content.tokens):
        raise ConfigError(f"{path}: tokens: two have the same id")
    return rows


def identify(tokens: Tokens, text: str, now_us: int) -> Identity | None:
    """Whom a token stands for; None for one that is unknown, revoked or expired.

    One answer for all of these, found by the same comparison: nothing tells them apart.
    """
    shape = SHAPE.fullmatch(text)
    token = tokens.get(shape[1]) if shape else None
    found = hmac.compare_digest(_hash(text), token.sha256 if token else NO_HASH)
    if token is None or not found or token.has_expired(now_us):
        return None
    return Identity(token.tenant, token.role)


def create(path: Path, grant: Grant, now: datetime, files: Files) -> tuple[Token, str]:
    """Add a token; the file and its folder are made when there are none.

    Returns:
        The row, and the token's text, which is kept nowhere.

    Raises:
        ConfigError: the file cannot be used or written, is full, or a field is malformed.
    """
    with _changing(path, files) as rows:
        if len(rows) >= TOKEN_COUNT_MAX:
            raise ConfigError(f"{path}: holds {TOKEN_COUNT_MAX} tokens already; revoke some")
        token_id = secrets.token_hex(ID_BYTES)
        text = f"rcld_{token_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
        try:
            row = Token(
                id=token_id,
                tenant=grant.tenant,
                role=grant.role,
                name=grant.name,
                sha256=_hash(text),
                create_time=now,
                expire_time=now + grant.lifetime if grant.lifetime is not None else None,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"{first['loc'][0]}: {first['msg']}") from None
        rows[token_id] = row
    return row, text


def revoke(path: Path, token_id: str, files: Files) -> bool:
    """Take a token out; False when there is none of that id.

    Raises:
        ConfigError: the file cannot be used or written.
    """
    with _changing(path, files) as rows:
        return rows.pop(token_id, None) is not None


@contextlib.contextmanager
def _changing(path: Path, files: Files) -> Iterator[Tokens]:
    """Rows to change; written back when they did. One process at a time."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigError(f"{path}: its folder cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        before = read(path) if path.exists() else {}
        rows = dict(before)
        yield rows
        if rows != before:
            _write(path, rows, files)
    finally:
        os.close(folder)


def _write(path: Path, rows: Tokens, files: Files) -> None:
    """Put a whole new file in place of the old one."""
    text = _Content(tokens=tuple(rows.values())).model_dump_json(indent=2, exclude_none=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{text}\n")
        files.sync_file(fresh)
        files.rename(fresh, path)
        files.sync_directory(path.parent)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        fresh.unlink(missing_ok=True)


def _hash(text: str) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
