"""TLS and client certificates: real ones, a real server, both clients and the command line."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from recalld.client import AsyncClient, Client, errors
from recalld.client.testing import RunningServer, running_server
from recalld.server import tls, token_file
from recalld.server.__main__ import app
from recalld.server.errors import ConfigError
from recalld.server.permissions import Role
from recalld.server.sections import TlsSection
from recalld.server.token_file import Grant
from recalld.storage.fsio import Files
from tests.server.certificates import Authority, needs_openssl

pytestmark = needs_openssl
LOG = structlog.wrap_logger(structlog.ReturnLogger())
CLIENTS = """
[[client]]
identity = "spiffe://example.org/ada"
tenant = "ada"
role = "writer"

[[client]]
identity = "bob"
tenant = "bob"
role = "reader"
"""


@dataclass(frozen=True)
class Secured:
    """A server that asks for client certificates, and what its clients hold."""

    server: RunningServer
    ca: Path
    ada: tuple[Path, Path]
    bob: tuple[Path, Path]
    eve: tuple[Path, Path]
    stranger: tuple[Path, Path]
    token: str

    def options(self, pair: tuple[Path, Path] | None, **more: Any) -> dict[str, Any]:
        """Options of a client with a certificate."""
        own = {} if pair is None else {"cert_file": str(pair[0]), "key_file": str(pair[1])}
        return {"user_id": "u", "tls": True, "ca_file": str(self.ca), **own, **more}

    def client(self, pair: tuple[Path, Path] | None, **more: Any) -> Client:
        """A client with a certificate."""
        return Client(self.server.target, **self.options(pair, **more))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One server for the module."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    other = Authority(tmp_path_factory.mktemp("other"))
    cert, key = authority.sign("server", "IP:127.0.0.1", "DNS:localhost")
    clients = folder / "clients.toml"
    clients.write_text(CLIENTS)
    clients.chmod(0o600)
    tokens = folder / "tokens.json"
    grant = Grant("zoo", Role.ADMIN)
    token = token_file.create(tokens, grant, datetime.now(UTC), Files())[1]
    environment = {
        "RECALLD_AUTH__REQUIRED": "true",
        "RECALLD_AUTH__TOKENS_FILE": str(tokens),
        "RECALLD_AUTH__CLIENT_IDENTITIES_FILE": str(clients),
        "RECALLD_TLS__CERT_FILE": str(cert),
        "RECALLD_TLS__KEY_FILE": str(key),
        "RECALLD_TLS__CLIENT_CA_FILE": str(authority.cert),
    }
    with running_server(data_dir=folder / "data", env=environment) as server:
        yield Secured(
            server,
            ca=authority.cert,
            ada=authority.sign("ada", "URI:spiffe://example.org/ada"),
            bob=authority.sign("bob"),
            eve=authority.sign("eve", "DNS:eve.example.org"),
            stranger=other.sign("ada", "URI:spiffe://example.org/ada"),
            token=token,
        )


def test_a_certificate_names_the_tenant(secured: Secured) -> None:
    """A client is let in by its certificate, as the tenant and the role of its name."""
    with secured.client(secured.ada) as ada, secured.client(secured.bob) as bob:
        made = ada.remember("likes green tea")
        assert ada.recall("green tea").hits
        assert not bob.recall("green tea").hits
        with pytest.raises(errors.MemoryNotFound):
            bob.get(made.results[0].id)
        with pytest.raises(errors.PermissionDenied, match="needs the role writer"):
            bob.remember("likes coffee")


def test_a_token_over_tls(secured: Secured) -> None:
    """A certificate that stands for nobody needs a token; with one it is that token's tenant."""
    with secured.client(secured.eve) as client, pytest.raises(errors.Unauthenticated):
        client.recall("tea")
    with secured.client(secured.eve, token=secured.token) as client:
        assert client.stats().memory_count == 0
    with (
        secured.client(secured.ada, token=secured.token) as client,
        pytest.raises(errors.Unauthenticated),
    ):
        client.recall("tea")


@pytest.mark.parametrize("lacking", ["certificate", "authority", "tls"])
def test_who_does_not_get_a_connection(secured: Secured, lacking: str) -> None:
    """Without a certificate, with one of a foreign authority, or in plaintext nobody connects."""
    options = {
        "certificate": secured.options(None),
        "authority": secured.options(secured.stranger),
        "tls": {"user_id": "u"},
    }[lacking]
    refused = pytest.raises((errors.Unavailable, errors.DeadlineExceeded))
    with Client(secured.server.target, **options) as client, refused:
        client.recall("tea", timeout=0.5)


def test_asyncio_client(secured: Secured) -> None:
    """The asyncio client takes the same certificate."""

    async def main() -> int:
        options = secured.options(secured.ada)
        async with AsyncClient(secured.server.target, **options) as client:
            await client.remember("plays chess")
            return len([memory async for memory in client.list()])

    assert asyncio.run(main()) >= 1


def test_command_line(secured: Secured) -> None:
    """The command line takes authority, certificate and key by option or environment."""
    cert, key = map(str, secured.ada)
    recalld = [sys.executable, "-m", "recalld.cli.main"]
    environment = {
        **os.environ,
        "RECALLD_TARGET": secured.server.target,
        "RECALLD_CA_FILE": str(secured.ca),
        "RECALLD_USER": "cli",
    }
    own = ["--cert-file", cert, "--key-file", key]
    subprocess.run([*recalld, "remember", "x", *own], env=environment, check=True)
    by_environment = {**environment, "RECALLD_CERT_FILE": cert, "RECALLD_KEY_FILE": key}
    subprocess.run([*recalld, "list"], env=by_environment, check=True)


def test_a_renewed_certificate_is_served(tmp_path: Path) -> None:
    """A server goes over to the certificate that takes the old one's place, without a restart."""
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def install(authority: Authority) -> None:
        for made, place in zip(authority.sign("s", "IP:127.0.0.1"), (cert, key), strict=True):
            shutil.move(made, place)

    install(old)
    environment = {"RECALLD_TLS__CERT_FILE": str(cert), "RECALLD_TLS__KEY_FILE": str(key)}

    def serves(server: RunningServer, authority: Authority) -> bool:
        with Client(server.target, tls=True, ca_file=str(authority.cert)) as client:
            try:
                return bool(client.server_info(timeout=2).version)
            except (errors.Unavailable, errors.DeadlineExceeded):
                return False

    with running_server(data_dir=tmp_path / "data", env=environment) as server:
        assert serves(server, old) and not serves(server, new)
        install(new)
        assert serves(server, new) and not serves(server, old)
        cert.write_text("broken")
        assert serves(server, new)
        assert any("certificates cannot be read" in line for line in server.log_lines())


@pytest.mark.parametrize("what", ["missing", "no_pem", "other_key", "no_authority", "encrypted"])
def test_bad_files_are_named(tmp_path: Path, what: str) -> None:
    """Files that gRPC would take and then refuse every connection are an error that names them."""
    authority = Authority(tmp_path)
    cert, key = authority.sign("server", "IP:127.0.0.1")
    named, client_ca = cert, None
    if what == "missing":
        cert.unlink()
    elif what == "no_pem":
        cert.write_text("hello")
    elif what == "other_key":
        key = authority.sign("other")[1]
        named = key
    elif what == "encrypted":
        done = ["openssl", "ec", "-aes128", "-passout", "pass:x", "-in", str(key), "-out"]
        key = named = tmp_path / "locked.key"
        subprocess.run([*done, str(key)], check=True, capture_output=True)
    else:
        client_ca = named = tmp_path / "none.pem"
        client_ca.write_text("hello")
    settings = TlsSection(cert_file=cert, key_file=key, client_ca_file=client_ca)
    with pytest.raises(ConfigError) as caught:
        tls.server_credentials(settings, LOG)
    assert str(named) in str(caught.value)


def test_a_server_without_its_certificate_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends with code 2 and names the file."""
    absent = tmp_path / "absent.crt"
    monkeypatch.setenv("RECALLD_TLS__CERT_FILE", str(absent))
    monkeypatch.setenv("RECALLD_TLS__KEY_FILE", str(tmp_path / "absent.key"))
    place = ["--data-dir", str(tmp_path / "d"), "--listen", "127.0.0.1:0"]
    done = CliRunner().invoke(app, ["serve", "--embedder", "hash", *place])
    assert done.exit_code == 2
    assert done.output.splitlines()[-1].startswith(f"error: {absent}: cannot be read")


def test_no_certificate_is_no_tls() -> None:
    """Without a certificate there are no credentials of the port."""
    assert tls.server_credentials(TlsSection(), LOG) is None
