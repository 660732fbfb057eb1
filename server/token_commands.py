"""`recalld token`: make, list and revoke bearer tokens, on the machine that holds their file.

A running server sees every change with the next call; none of these commands talks to it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from recalld.server import config as configuration
from recalld.server import times, token_file
from recalld.server.clock import SystemClock
from recalld.server.credentials import tokens_path
from recalld.server.errors import ConfigError
from recalld.server.permissions import Role
from recalld.server.token_file import Grant, Token
from recalld.storage.fsio import Files

LIFETIME = re.compile(r"([1-9]\d{0,5})([mhdw])")
UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
LIFETIME_MAX = timedelta(days=3650)

token_app = typer.Typer(no_args_is_help=True, help="Make, list and revoke bearer tokens.")

DataDir = Annotated[
    Path | None,
    typer.Option(help="the server's data directory; default ./recalld-data", show_default=False),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="the server's TOML file", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="as JSON, one object a line")]


def _lifetime(text: str) -> timedelta:
    """How long a token counts."""
    found = LIFETIME.fullmatch(text)
    if found is None:
        raise typer.BadParameter("must be a whole number and m, h, d or w, such as 90d")
    lifetime = int(found[1]) * UNITS[found[2]]
    if lifetime > LIFETIME_MAX:
        raise typer.BadParameter(f"must be at most {LIFETIME_MAX.days}d")
    return lifetime


def _path(data_dir: Path | None, config: Path | None) -> Path:
    """The file of tokens of a server with these settings."""
    flags: dict[str, dict[str, Any]] = {"storage": {"data_dir": data_dir} if data_dir else {}}
    return tokens_path(configuration.load(flags=flags, file=config))


def _fail(error: ConfigError) -> typer.Exit:
    """Say what is wrong; the exit code of wrong usage or configuration."""
    typer.echo(f"error: {error}", err=True)
    return typer.Exit(2)


def _shown(token: Token) -> dict[str, Any]:
    """A row as it may be shown: without its hash."""
    return token.model_dump(mode="json", exclude={"sha256"}, exclude_none=True)


@token_app.command("create")
def create(
    tenant: Annotated[
        str, typer.Option(help="whose memories: up to 64 of A-Z a-z 0-9 . _ -", show_default=False)
    ],
    role: Annotated[
        Role,
        typer.Option(
            help="reader: recalls; writer: also remembers and forgets; admin: also memories that "
            "only the system sees, the tenant's statistics and, in the tenant default, the server",
            show_default=False,
        ),
    ],
    expires: Annotated[
        str | None,
        typer.Option(help="how long it counts: 30m, 12h, 90d, 4w; unset: for ever"),
    ] = None,
    name: Annotated[str, typer.Option(help="for people: who or what uses it")] = "",
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, once: the file keeps only its hash.

    The token alone goes to standard output, so that it can be piped into a secret.

    Examples:

      recalld token create --tenant acme --role writer --expires 90d --name agent-1

      recalld token create --tenant default --role admin --json
    """
    grant = Grant(tenant, role, name, _lifetime(expires) if expires is not None else None)
    now = times.EPOCH + timedelta(microseconds=SystemClock().now_us())
    try:
        row, text = token_file.create(_path(data_dir, config), grant, now, Files())
    except ConfigError as error:
        raise _fail(error) from None
    if as_json:
        typer.echo(json.dumps({**_shown(row), "token": text}, ensure_ascii=False))
        return
    typer.echo(text)
    typer.echo(f"token {row.id}: keep it now, it is not shown again", err=True)


@token_app.command("list")
def list_tokens(
    data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """List tokens: id, tenant, role, end and name, never the token itself.

    Examples:

      recalld token list

      recalld token list --data-dir /var/lib/recalld --json
    """
    try:
        path = _path(data_dir, config)
        tokens = token_file.read(path) if path.exists() else {}
    except ConfigError as error:
        raise _fail(error) from None
    now_us = SystemClock().now_us()
    for token in tokens.values():
        has_expired = token.has_expired(now_us)
        if as_json:
            shown = {**_shown(token), "expired": has_expired}
            typer.echo(json.dumps(shown, ensure_ascii=False))
            continue
        end = _day(token.expire_time) + (" (expired)" if has_expired else "")
        typer.echo("\t".join((token.id, token.tenant, token.role, end, _printable(token.name))))


@token_app.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="as `recalld token list` shows it")],
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Revoke a token: the next call with it is refused.

    Exits with 1 when there is none of that id.

    Examples:

      recalld token revoke 3f9c0a1b2d4e
    """
    try:
        is_found = token_file.revoke(_path(data_dir, config), token_id, Files())
    except ConfigError as error:
        raise _fail(error) from None
    if not is_found:
        typer.echo(f"error: there is no token {_printable(token_id)}", err=True)
        raise typer.Exit(1)
    typer.echo(f"revoked {token_id}")


def _day(time: datetime | None) -> str:
    """A time for people."""
    return "never" if time is None else time.astimezone(UTC).isoformat(timespec="seconds")


def _printable(text: str) -> str:
    """A text in one line, without what moves the cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
