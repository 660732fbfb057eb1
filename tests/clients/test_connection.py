"""Targets, tokens and TLS options."""

import shutil
import subprocess
from pathlib import Path

import grpc
import pytest

from recalld.client import AsyncClient, Client, errors
from recalld.client.connection import connection, is_local

from .conftest import FaultServer, Run


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("127.0.0.1:7600", True),
        ("127.8.0.1:7600", True),
        ("[::1]:7600", True),
        ("localhost:7600", True),
        ("unix:/run/recalld.sock", True),
        ("unix-abstract:recalld", True),
        ("10.0.0.5:7600", False),
        ("memory.internal:7600", False),
        ("localhost.example.org:7600", False),
        ("[2001:db8::1]:7600", False),
    ],
)
def test_local_targets(target: str, expected: bool) -> None:
    """Unix sockets and loopback addresses are local, names and other addresses are not."""
    assert is_local(target) is expected


@pytest.mark.parametrize("client_class", [Client, AsyncClient])
def test_token_in_plaintext_to_another_host_is_refused(client_class: type) -> None:
    """A token without TLS to another host raises before anything is sent."""
    with pytest.raises(ValueError, match="token: refused over plaintext"):
        client_class("10.0.0.5:7600", token="secret")


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("10.0.0.5:7600", {"tls": True}),
        ("10.0.0.5:7600", {"allow_insecure_token": True}),
        ("127.0.0.1:7600", {}),
        ("unix:/run/recalld.sock", {}),
    ],
)
def test_token_is_sent_as_bearer(target: str, options: dict[str, bool]) -> None:
    """Where a token is allowed it becomes the authorization metadata."""
    made = connection(target, {"token": "secret", **options})
    assert made.call_metadata == (("authorization", "Bearer secret"),)


def test_tls_files_need_tls_and_come_in_pairs(tmp_path: Path) -> None:
    """A certificate without TLS, or without its key, raises ValueError."""
    with pytest.raises(ValueError, match="ca_file: needs tls=True"):
        connection("host:1", {"ca_file": "ca.pem"})
    with pytest.raises(ValueError, match="cert_file and key_file"):
        connection("host:1", {"tls": True, "cert_file": "cert.pem"})
    with pytest.raises(FileNotFoundError):
        connection("host:1", {"tls": True, "ca_file": str(tmp_path / "none.pem")})


def test_unknown_option_is_a_type_error() -> None:
    """A misspelt option raises TypeError instead of being ignored."""
    with pytest.raises(TypeError, match="'usr_id'"):
        Client("127.0.0.1:1", usr_id="u")  # type: ignore[call-arg]


def test_authority_of_a_unix_socket_is_localhost() -> None:
    """On unix sockets the authority is set, elsewhere grpc's own is kept."""
    unix = dict(connection("unix:/x", {}).channel_options)
    assert unix["grpc.default_authority"] == "localhost"
    assert "grpc.default_authority" not in dict(connection("host:1", {}).channel_options)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_mutual_tls(tmp_path: Path, run: Run) -> None:
    """With its CA and its own certificate a client gets in; without either it does not."""
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *subject, *files], check=True, capture_output=True)
    credentials = grpc.ssl_server_credentials(
        [(key.read_bytes(), cert.read_bytes())], cert.read_bytes(), require_client_auth=True
    )
    server = FaultServer("localhost:0", credentials)
    target = server.target.replace("127.0.0.1", "localhost")
    try:
        ours = {"tls": True, "ca_file": str(cert)}
        own = {"cert_file": str(cert), "key_file": str(key), "token": "secret"}
        assert run(target, "remember", "x", connect={**ours, **own}).revision == 7
        assert server.metadata[0]["authorization"] == "Bearer secret"
        for lacking in ({}, {"tls": True}, ours):
            with pytest.raises((errors.Unavailable, errors.DeadlineExceeded)):
                run(target, "remember", "x", connect=lacking, timeout=0.4)
    finally:
        server.stop()
