"""Who asks: from the metadata and the certificate of a call to a tenant and a role.

It runs before a request is parsed. It never says which part of a credential was wrong, and never
logs one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc

from recalld.server import client_identities, permissions, token_file
from recalld.server.clock import Clock
from recalld.server.config import Config
from recalld.server.errors import ConfigError, Unauthenticated
from recalld.server.permissions import EVERYBODY, Identity
from recalld.server.watched_file import WatchedFile

AUTHORIZATION_KEY = "authorization"
SCHEME = "bearer "


def tokens_path(config: Config) -> Path:
    """Where the tokens of a server are."""
    return config.auth.tokens_file or config.storage.data_dir / "tokens.json"


class Credentials:
    """The door of one server. Thread safety: of the event loop only."""

    def __init__(
        self,
        clock: Clock,
        tokens: WatchedFile[token_file.Tokens] | None = None,
        clients: WatchedFile[client_identities.Clients] | None = None,
    ) -> None:
        """With neither tokens nor clients everybody is let in, as admin of the default tenant."""
        self._clock = clock
        self._tokens = tokens
        self._clients = clients

    def admit(self, method: str, context: grpc.aio.ServicerContext) -> Identity:
        """Whom a call's credential stands for, if that one may call the method.

        Args:
            method: `package.Service/Method`.
            context: of the call.

        Raises:
            Unauthenticated: there is no valid credential.
            PermissionDenied: its role does not allow the method.
            NotReady: the files of credentials cannot be read.
        """
        identity = self._identify(context)
        permissions.require(method, identity)
        return identity

    def _identify(self, context: grpc.aio.ServicerContext) -> Identity:
        """Whom the credential stands for: a token decides, a known certificate must agree."""
        if self._tokens is None and self._clients is None:
            return EVERYBODY
        certified = None
        if self._clients is not None:
            names = context.peer_identities() or ()
            certified = client_identities.identify(self._clients.current(), names)
        text = _bearer(context)
        if text is None:
            if certified is None:
                raise Unauthenticated(
                    "a credential is needed: metadata `authorization: Bearer TOKEN`"
                )
            return certified
        if self._tokens is None:
            raise Unauthenticated("the token is not valid")
        identity = token_file.identify(self._tokens.current(), text, self._clock.now_us())
        if identity is None or (certified is not None and certified.tenant != identity.tenant):
            raise Unauthenticated("the token is not valid")
        return identity


def open_credentials(config: Config, clock: Clock, log: Any) -> Credentials:
    """The door that a configuration asks for.

    Raises:
        ConfigError: a file of credentials cannot be used, or there is none at all; names it.
    """
    path = tokens_path(config)
    if not config.auth.required:
        if path.exists():
            log.warning("tokens are not asked for: auth.required is off", tokens_file=str(path))
        return Credentials(clock)
    clients = None
    if config.auth.client_identities_file is not None:
        clients = WatchedFile(config.auth.client_identities_file, client_identities.read, log)
    tokens = None
    if config.auth.tokens_file is not None or path.exists():
        tokens = WatchedFile(path, token_file.read, log)
    if tokens is None and clients is None:
        raise ConfigError(
            f"auth.required: {path} does not exist; make a first token with "
            "`recalld token create --tenant default --role admin`"
        )
    return Credentials(clock, tokens, clients)


def _bearer(context: grpc.aio.ServicerContext) -> str | None:
    """The bearer token of a call; None without the header, "" for one that is no bearer token."""
    given = [v for k, v in context.invocation_metadata() or () if k == AUTHORIZATION_KEY]
    if not given:
        return None
    # Two are never one: a proxy and a caller could mean different ones.
    text = given[0] if len(given) == 1 and isinstance(given[0], str) else ""
    return text[len(SCHEME) :].strip() if text[: len(SCHEME)].lower() == SCHEME else ""
