"""Addresses: what is refused before anything is bound."""

from __future__ import annotations

import socket
from pathlib import Path

import grpc
import pytest

from recalld.server import listening
from recalld.server.errors import AddressInUse


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:7600", "localhost:65535", "unix:/x"])
def test_addresses_that_can_be_tried(address: str) -> None:
    """Host and port, bracketed IPv6 and a socket in a folder that exists are accepted."""
    assert listening.problem_of(address) == ""


@pytest.mark.parametrize(
    "address",
    [
        *("", "127.0.0.1", "127.0.0.1:", ":7600", "127.0.0.1:70000", "127.0.0.1:x", "::1:7600"),
        *("unix:", "unix:/", f"unix:/{'x' * 120}"),
    ],
)
def test_addresses_that_grpc_would_misread(address: str) -> None:
    """A missing or impossible port and an unusable socket path are refused with a reason."""
    assert listening.problem_of(address)


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("unix:/run/x.sock", True),
        ("127.0.0.1:1", True),
        ("127.9.0.1:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("LOCALHOST:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.5:1", False),
        ("[::ffff:10.0.0.5]:1", False),
        ("localhost.example.org:1", False),
        ("recalld:1", False),
    ],
)
def test_who_reaches_an_address(address: str, is_local: bool) -> None:
    """Sockets and loopback are of this machine; every other number or name is not."""
    assert listening.is_local(address) is is_local


async def test_a_socket_for_a_group(tmp_path: Path) -> None:
    """With 0660 the group may connect, and others still may not, whatever the umask says."""
    path = tmp_path / "s.sock"
    server = grpc.aio.server()
    listening.bind(server, f"unix:{path}", socket_mode=0o660)
    assert path.stat().st_mode & 0o777 == 0o660
    await server.stop(None)


async def test_a_socket_needs_its_folder(tmp_path: Path) -> None:
    """A socket in a folder that does not exist is refused with that reason."""
    with pytest.raises(AddressInUse, match="folder does not exist"):
        listening.bind(grpc.aio.server(), f"unix:{tmp_path}/none/s.sock")


async def test_a_live_socket_is_not_taken(tmp_path: Path) -> None:
    """A socket on which somebody listens is refused; one that a dead server left is used."""
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as holder:
        holder.bind(str(path))
        holder.listen()
        with pytest.raises(AddressInUse, match="another server listens"):
            listening.bind(grpc.aio.server(), f"unix:{path}")
    server = grpc.aio.server()
    assert listening.bind(server, f"unix:{path}") == f"unix:{path}"
    await server.start()
    assert path.stat().st_mode & 0o777 == 0o600
    await server.stop(None)
