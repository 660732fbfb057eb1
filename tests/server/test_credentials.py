"""Who asks: tokens, certificates, both and neither."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from recalld.server import client_identities, times, token_file
from recalld.server.config import Config
from recalld.server.credentials import Credentials, open_credentials
from recalld.server.errors import ConfigError, NotReady, PermissionDenied, Unauthenticated
from recalld.server.permissions import EVERYBODY, Identity, Role
from recalld.server.sections import AuthSection, StorageSection, TlsSection
from recalld.server.token_file import Grant
from recalld.server.watched_file import WatchedFile
from recalld.storage.fsio import Files
from tests.server.core import HOUR_US, NOW_US, FixedClock
from tests.server.doors import FakeContext

RECALL = "recalld.v1.RecallService/Recall"
STATS = "recalld.v1.AdminService/GetStats"
LOG = structlog.wrap_logger(structlog.ReturnLogger())
NOW = times.EPOCH + timedelta(microseconds=NOW_US)


class Doors:
    """A door with tokens, client certificates or both."""

    def __init__(self, folder: Path, *, with_tokens: bool = True, clients: str = "") -> None:
        self.clock = FixedClock()
        self.path = folder / "tokens.json"
        self.token = self.make("acme", Role.WRITER)
        watched: dict[str, Any] = {}
        if with_tokens:
            watched["tokens"] = WatchedFile(self.path, token_file.read, LOG)
        if clients:
            file = folder / "clients.toml"
            file.write_text(clients)
            file.chmod(0o600)
            watched["clients"] = WatchedFile(file, client_identities.read, LOG)
        self.credentials = Credentials(self.clock, **watched)

    def make(self, tenant: str, role: Role, **more: Any) -> str:
        return token_file.create(self.path, Grant(tenant, role, **more), NOW, Files())[1]

    def admit(self, method: str = RECALL, **context: Any) -> Identity:
        return self.credentials.admit(method, FakeContext(**context))  # type: ignore[arg-type]

    def refusal(self, **context: Any) -> str:
        with pytest.raises(Unauthenticated) as caught:
            self.admit(**context)
        return str(caught.value)


ADA = '[[client]]\nidentity = "ada"\ntenant = "acme"\nrole = "reader"\n'


def test_off() -> None:
    """While credentials are off everybody is admin of the tenant default, whatever they send."""
    door = Credentials(FixedClock())
    for context in (FakeContext(), FakeContext(token="x"), FakeContext(names=[b"ada"])):
        assert door.admit(STATS, context) == EVERYBODY  # type: ignore[arg-type]


def test_tokens(tmp_path: Path) -> None:
    """A token lets its tenant in; one made or revoked meanwhile counts with the next call."""
    doors = Doors(tmp_path)
    assert doors.admit(token=doors.token) == Identity("acme", Role.WRITER)
    other = doors.make("zoo", Role.READER)
    assert doors.admit(token=other) == Identity("zoo", Role.READER)
    token_file.revoke(doors.path, other.split("_")[1], Files())
    assert doors.refusal(token=other) == "the token is not valid"
    assert doors.admit(token=doors.token)


def test_expiry(tmp_path: Path) -> None:
    """A token is refused from its end on, by the server's clock."""
    doors = Doors(tmp_path)
    short = doors.make("acme", Role.READER, lifetime=timedelta(hours=1))
    assert doors.admit(token=short)
    doors.clock.time_us += HOUR_US
    assert doors.refusal(token=short) == "the token is not valid"


def test_one_answer_for_every_wrong_token(tmp_path: Path) -> None:
    """Unknown, revoked, expired, malformed and doubled tokens are refused in the same words."""
    doors = Doors(tmp_path)
    expired = doors.make("acme", Role.READER, lifetime=timedelta(0))
    revoked = doors.make("acme", Role.READER)
    token_file.revoke(doors.path, revoked.split("_")[1], Files())
    header = f"Bearer {doors.token}"
    said = {
        doors.refusal(token=text)
        for text in (expired, revoked, doors.token[:-1] + "!", "", "x", "rcld__")
    }
    said |= {
        doors.refusal(metadata=pairs)
        for pairs in (
            [("authorization", header), ("authorization", header)],
            [("authorization", doors.token)],
            [("authorization", f"Basic {doors.token}")],
            [("authorization", header.encode())],
        )
    }
    assert said == {"the token is not valid"}
    assert "Bearer TOKEN" in doors.refusal()


def test_the_scheme_has_no_case(tmp_path: Path) -> None:
    """`bearer` and `BEARER` are the same scheme (RFC 9110, section 11.1)."""
    doors = Doors(tmp_path)
    for scheme in ("bearer", "BEARER", "Bearer"):
        assert doors.admit(metadata=[("authorization", f"{scheme} {doors.token}")])


def test_roles(tmp_path: Path) -> None:
    """A method above the role is denied after the credential was accepted, not before."""
    doors = Doors(tmp_path)
    with pytest.raises(PermissionDenied, match="needs the role admin; this credential has writer"):
        doors.admit(STATS, token=doors.token)
    with pytest.raises(Unauthenticated):
        doors.admit("recalld.v1.MemoryService/Guess")
    with pytest.raises(PermissionDenied):
        doors.admit("recalld.v1.MemoryService/Guess", token=doors.token)


def test_certificates(tmp_path: Path) -> None:
    """A known certificate lets its client in without a token; an unknown one does not."""
    doors = Doors(tmp_path, with_tokens=False, clients=ADA)
    assert doors.admit(names=[b"ada"]) == Identity("acme", Role.READER)
    assert "a credential is needed" in doors.refusal(names=[b"eve"])
    assert "a credential is needed" in doors.refusal()
    assert doors.refusal(names=[b"ada"], token=doors.token) == "the token is not valid"


def test_token_and_certificate(tmp_path: Path) -> None:
    """A token decides the role; with the certificate of another tenant it counts as stolen, and a
    wrong token is not made good by a certificate."""
    doors = Doors(tmp_path, clients=ADA)
    assert doors.admit(names=[b"ada"], token=doors.token) == Identity("acme", Role.WRITER)
    assert doors.admit(names=[b"eve"], token=doors.token) == Identity("acme", Role.WRITER)
    stolen = doors.make("zoo", Role.ADMIN)
    assert doors.refusal(names=[b"ada"], token=stolen) == "the token is not valid"
    assert doors.refusal(names=[b"ada"], token="x") == "the token is not valid"


def test_a_lost_file_lets_nobody_in(tmp_path: Path) -> None:
    """When the file of tokens is gone, valid tokens are refused as UNAVAILABLE until it is back."""
    doors = Doors(tmp_path)
    content = doors.path.read_bytes()
    doors.path.unlink()
    with pytest.raises(NotReady):
        doors.admit(token=doors.token)
    doors.path.touch(0o600)
    doors.path.write_bytes(content)
    assert doors.admit(token=doors.token)


def configured(folder: Path, **auth: Any) -> Config:
    """A configuration with its data in a folder."""
    tls = TlsSection(cert_file=Path("c"), key_file=Path("k"), client_ca_file=Path("a"))
    return Config(
        auth=AuthSection(**auth),
        storage=StorageSection(data_dir=folder),
        tls=tls if auth.get("client_identities_file") else TlsSection(),
    )


def test_opening(tmp_path: Path) -> None:
    """Required credentials need a file, which the error names; unused tokens are warned of."""
    config = configured(tmp_path, required=True)
    with pytest.raises(ConfigError, match=f"{tmp_path / 'tokens.json'} does not exist"):
        open_credentials(config, FixedClock(), LOG)
    with pytest.raises(ConfigError, match=r"none\.toml"):
        named = configured(tmp_path, required=True, client_identities_file=tmp_path / "none.toml")
        open_credentials(named, FixedClock(), LOG)
    doors = Doors(tmp_path)
    door = open_credentials(config, FixedClock(), LOG)
    assert door.admit(RECALL, FakeContext(token=doors.token)).tenant == "acme"  # type: ignore[arg-type]
    with structlog.testing.capture_logs() as log:
        logger = structlog.get_logger()
        door = open_credentials(configured(tmp_path), FixedClock(), logger)
    assert door.admit(STATS, FakeContext()) == EVERYBODY  # type: ignore[arg-type]
    assert "auth.required is off" in log[0]["event"]
