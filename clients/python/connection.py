"""What both channels are made of: target, credentials, channel arguments, call metadata.

Invariants: a token never changes how the server is reached, and never travels in plaintext to
another host unless the caller says so; the authority of a unix socket is `localhost`, since its
path is no host name and proxies refuse it; reconnecting never waits longer than the retries of
one call.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import grpc

from recalld.client import retry
from recalld.client.calls import SCOPE_FIELDS, CallFactory
from recalld.client.options import MESSAGE_BYTES_MAX, ConnectOptions, Timeouts

DEFAULT_TARGET = "127.0.0.1:7600"
RECONNECT_BACKOFF_MIN_MS = 100
# Below the sum of one call's retry backoffs (0.1 + 0.3 + 0.9 s), so that the first call after a
# restart of the server already finds a fresh connection attempt.
RECONNECT_BACKOFF_MAX_MS = 500
KEEPALIVE_TIME_MS = 30_000
KEEPALIVE_TIMEOUT_MS = 10_000
UNIX_SCHEMES = ("unix:", "unix-abstract:")


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything needed to open a channel and to send a call."""

    target: str
    credentials: grpc.ChannelCredentials | None
    channel_options: tuple[tuple[str, Any], ...]
    call_metadata: tuple[tuple[str, str], ...]
    calls: CallFactory


def connection(target: str, options: ConnectOptions) -> Connection:
    """Checks the options and makes a connection of them; opens nothing.

    Raises:
        TypeError: If an option is unknown.
        ValueError: If the target is no `host:port` or `unix:/path`, the token would travel in
            plaintext to another host, or the TLS files do not fit together.
        OSError: If a TLS file cannot be read.
    """
    given: dict[str, Any] = dict(options)
    unknown = sorted(set(given) - set(ConnectOptions.__annotations__))
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    if not isinstance(target, str) or not all(target.partition(":")):
        raise ValueError(f"target: {target!r} is neither host:port nor unix:/path")
    token, tls = given.get("token"), bool(given.get("tls"))
    if token and not tls and not given.get("allow_insecure_token") and not is_local(target):
        raise ValueError(
            f"token: refused over plaintext to {target}; set tls=True, or allow_insecure_token=True"
        )
    scope = {name: given[name] for name in SCOPE_FIELDS if given.get(name)}
    return Connection(
        target=target,
        credentials=_credentials(tls, given),
        channel_options=_channel_options(target, given.get("max_message_bytes", MESSAGE_BYTES_MAX)),
        call_metadata=(("authorization", f"Bearer {token}"),) if token else (),
        calls=CallFactory(scope, given.get("timeouts", Timeouts())),
    )


def is_local(target: str) -> bool:
    """Whether the target is a unix socket or a loopback address."""
    if target.startswith(UNIX_SCHEMES):
        return True
    host = target.rpartition(":")[0].removeprefix("[").removesuffix("]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _credentials(tls: bool, given: Mapping[str, Any]) -> grpc.ChannelCredentials | None:
    files = {name: given.get(name) for name in ("ca_file", "cert_file", "key_file")}
    if not tls:
        stray = [name for name, path in files.items() if path]
        if stray:
            raise ValueError(f"{stray[0]}: needs tls=True")
        return None
    if bool(files["cert_file"]) != bool(files["key_file"]):
        raise ValueError("cert_file and key_file: give both or none")
    ca, cert, key = (Path(path).read_bytes() if path else None for path in files.values())
    return grpc.ssl_channel_credentials(ca, key, cert)


def _channel_options(target: str, message_bytes_max: int) -> tuple[tuple[str, Any], ...]:
    options: list[tuple[str, Any]] = [
        ("grpc.primary_user_agent", f"recalld-python/{version()}"),
        ("grpc.max_receive_message_length", message_bytes_max),
        ("grpc.max_send_message_length", message_bytes_max),
        ("grpc.service_config", retry.service_config()),
        ("grpc.enable_retries", 1),
        ("grpc.initial_reconnect_backoff_ms", RECONNECT_BACKOFF_MIN_MS),
        ("grpc.min_reconnect_backoff_ms", RECONNECT_BACKOFF_MIN_MS),
        ("grpc.max_reconnect_backoff_ms", RECONNECT_BACKOFF_MAX_MS),
        ("grpc.keepalive_time_ms", KEEPALIVE_TIME_MS),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
        # Two clients of one process must not share a connection: closing one would count against
        # the other, and their tokens differ.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if target.startswith(UNIX_SCHEMES):
        options.append(("grpc.default_authority", "localhost"))
    return tuple(options)


def version() -> str:
    """Version of the installed product; `0` when it runs from a bare checkout."""
    try:
        return metadata.version("recalld")
    except metadata.PackageNotFoundError:
        return "0"
