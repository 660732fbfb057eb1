"""Options that several commands share, as frozen dataclasses.

`command` registers a function whose parameters are such dataclasses: their fields become the
options of the command, so a command with many options still takes two or three arguments, and
options that belong together are written once.

Invariants: a field's type is `Annotated[..., typer.Option | typer.Argument]`; names are unique
over the dataclasses of one command.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import texts

if TYPE_CHECKING:
    from recalld.client import Client

DEFAULT_TARGET = "127.0.0.1:7600"
TARGET_VARIABLE = "RECALLD_TARGET"
TOKEN_VARIABLE = "RECALLD_TOKEN"
USER_VARIABLE = "RECALLD_USER"


@dataclass(frozen=True)
class Server:
    """How the server is reached."""

    target: Annotated[
        str,
        typer.Option(envvar=TARGET_VARIABLE, help="Server: host:port or unix:/path."),
    ] = DEFAULT_TARGET
    token: Annotated[
        str | None,
        typer.Option(envvar=TOKEN_VARIABLE, help="Bearer token.", show_default=False),
    ] = None
    ca_file: Annotated[
        str | None,
        typer.Option(
            envvar="RECALLD_CA_FILE",
            help="Use TLS and trust this PEM file; 'system' trusts the system's roots.",
            show_default=False,
        ),
    ] = None
    cert_file: Annotated[
        str | None,
        typer.Option(
            envvar="RECALLD_CERT_FILE", help="Own certificate (PEM), for TLS.", show_default=False
        ),
    ] = None
    key_file: Annotated[
        str | None,
        typer.Option(envvar="RECALLD_KEY_FILE", help="Its private key (PEM).", show_default=False),
    ] = None

    def connect(self, **scope: str) -> Client:
        """A client with this scope.

        Raises:
            ValueError: If the token would travel in plaintext to another host, a certificate is
                given without TLS or without its key, or the target has not the form of one.
        """
        from recalld.client import Client
        from recalld.client.connection import is_local

        if not all(self.target.partition(":")):
            raise ValueError(f"--target: {self.target!r} is neither host:port nor unix:/path")
        if self.token and self.ca_file is None and not is_local(self.target):
            raise ValueError(
                f"--token: refused over plaintext to {self.target}; use TLS with --ca-file FILE, "
                "or --ca-file system for the system's roots"
            )
        ca_file = None if self.ca_file == "system" else self.ca_file
        given: dict[str, Any] = dict(scope)
        if self.ca_file is None and (self.cert_file or self.key_file):
            raise ValueError("--cert-file and --key-file: need TLS, so --ca-file too")
        return Client(
            self.target,
            token=self.token,
            tls=self.ca_file is not None,
            ca_file=ca_file,
            cert_file=self.cert_file,
            key_file=self.key_file,
            **given,
        )


@dataclass(frozen=True)
class Scoped(Server):
    """How the server is reached, and whose memories are meant."""

    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", envvar=USER_VARIABLE, help="Whose memories.", show_default=False
        ),
    ] = None
    agent: Annotated[
        str, typer.Option(help="The agent that writes or asks.", show_default=False)
    ] = ""
    session: Annotated[str, typer.Option(help="The conversation.", show_default=False)] = ""
    namespace: Annotated[
        str, typer.Option(help="Label such as project/alpha.", show_default=False)
    ] = ""

    def open(self) -> Client:
        """A client with this scope.

        Raises:
            ValueError: If no user is named.
        """
        if not self.user:
            raise ValueError(f"name a user: --user, or {USER_VARIABLE} in the environment")
        return self.connect(
            user_id=self.user,
            agent_id=self.agent,
            session_id=self.session,
            namespace=self.namespace,
        )


@dataclass(frozen=True)
class Output:
    """How the answer is written."""

    json: Annotated[bool, typer.Option("--json", help="Write JSON, one object a line.")] = False


def command(
    app: typer.Typer, name: str, *, examples: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a function of option dataclasses as a command of `app`.

    Args:
        app: Where it goes.
        name: Name of the command.
        examples: Example calls, one a line, shown below the help.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        groups = {
            parameter: kind
            for parameter, kind in typing.get_type_hints(function).items()
            if parameter != "return"
        }

        names = _shown_names(groups.values())

        @functools.wraps(function)
        def flat(**given: Any) -> None:
            for name, value in given.items():
                texts.check_unicode(names[name], value)
            function(
                **{
                    parameter: group(**{f.name: given[f.name] for f in dataclasses.fields(group)})
                    for parameter, group in groups.items()
                }
            )

        _set_signature(flat, groups.values())
        lines = [line.strip() for line in examples.strip().splitlines()]
        epilog = "\n\n".join(["Examples:", *lines]) if lines else None
        app.command(name, epilog=epilog)(flat)
        return function

    return decorate


def _shown_names(groups: typing.Iterable[type]) -> dict[str, str]:
    """How the user knows each field: `--option`, or the name of an argument in capitals."""
    names = {}
    for group in groups:
        for name, hint in typing.get_type_hints(group, include_extras=True).items():
            (info,) = hint.__metadata__
            if isinstance(info, typer.models.ArgumentInfo):
                names[name] = name.upper()
            else:
                written = [text for text in info.param_decls or () if text.startswith("--")]
                names[name] = written[0] if written else f"--{name.replace('_', '-')}"
    return names


def _set_signature(function: Any, groups: typing.Iterable[type]) -> None:
    """Gives `function` the fields of all the groups as keyword parameters."""
    parameters = []
    for group in groups:
        hints = typing.get_type_hints(group, include_extras=True)
        for field in dataclasses.fields(group):
            default = inspect.Parameter.empty
            if field.default is not dataclasses.MISSING:
                default = field.default
            elif field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=hints[field.name],
                )
            )
    del function.__wrapped__
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {p.name: p.annotation for p in parameters}


def is_interactive() -> bool:
    """Whether a person can be asked on the terminal."""
    return os.isatty(0) and os.isatty(2)
