"""Addresses to listen on: checked before anything is bound, for gRPC takes more than it says.

Without these checks a port of 70000 listens somewhere else, a missing port on 443, and a second
server takes a live Unix socket away from the first.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from pathlib import Path

import grpc

from recalld.server.errors import AddressInUse

PORT_MAX = 65_535
SOCKET_PATH_BYTES_MAX = 107
HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):(\d{1,5})")


def problem_of(address: str) -> str:
    """What is wrong with an address; "" when it can be tried."""
    path = socket_path(address)
    if path is not None:
        if not path or path.endswith("/"):
            return "names no socket after unix:"
        if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
            return f"has a path of more than {SOCKET_PATH_BYTES_MAX} bytes"
        return ""
    found = HOST_AND_PORT.fullmatch(address)
    if found is None:
        return "must be host:port, [v6]:port or unix:/path"
    return "" if int(found[2]) <= PORT_MAX else f"has a port above {PORT_MAX}"


def socket_path(address: str) -> str | None:
    """Path of a Unix socket; None for TCP."""
    for prefix in ("unix://", "unix:"):
        if address.startswith(prefix):
            return address.removeprefix(prefix)
    return None


def is_local(address: str) -> bool:
    """Whether only this machine reaches an address: a Unix socket, or loopback."""
    if socket_path(address) is not None:
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bind(
    server: grpc.aio.Server,
    address: str,
    credentials: grpc.ServerCredentials | None = None,
    socket_mode: int = 0o600,
) -> str:
    """Bind, and return the address under which the server is reached.

    Args:
        server: not started yet.
        address: one that `problem_of` passes.
        credentials: of TLS; None = plaintext.
        socket_mode: of a Unix socket.

    Raises:
        AddressInUse: somebody else listens there, or it cannot be bound.
    """
    path = socket_path(address)
    if path is not None and not Path(path).parent.is_dir():
        raise AddressInUse(f"{address}: the socket's folder does not exist")
    if path is not None and _is_live(path):
        raise AddressInUse(f"{address}: another server listens on this socket")
    # A Unix socket is never open to others, from the moment it exists.
    mask = os.umask(0o777 & ~socket_mode)
    try:
        if credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise AddressInUse(f"{address}: the address is in use or cannot be bound") from error
    finally:
        os.umask(mask)
    return f"{address.rpartition(':')[0]}:{port}" if address.endswith(":0") else address


def _is_live(path: str) -> bool:
    """Whether somebody answers on a socket; a stale file of a killed server does not."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
