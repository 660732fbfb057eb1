"""Names of certificates and whom they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalld.server import client_identities
from recalld.server.errors import ConfigError
from recalld.server.permissions import Identity, Role

ADA = '[[client]]\nidentity = "spiffe://x.org/ada"\ntenant = "ada"\nrole = "writer"\n'
BOB = '[[client]]\nidentity = "bob.example.org"\ntenant = "bob"\nrole = "reader"\n'


def written(folder: Path, text: str) -> Path:
    """A file of identities."""
    path = folder / "clients.toml"
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_names(tmp_path: Path) -> None:
    """A name stands for its entry as a whole: no part, no other case, no pattern."""
    clients = client_identities.read(written(tmp_path, ADA + BOB))
    ada, bob = Identity("ada", Role.WRITER), Identity("bob", Role.READER)
    for names, expected in (
        ((b"spiffe://x.org/ada",), ada),
        ((b"other", b"bob.example.org"), bob),
        ((b"spiffe://x.org/ada/more",), None),
        ((b"spiffe://x.org/",), None),
        ((b"BOB.example.org",), None),
        ((b"*",), None),
        ((b"\xff",), None),
        ((), None),
    ):
        assert client_identities.identify(clients, names) == expected


def test_a_certificate_for_two_stands_for_nobody(tmp_path: Path) -> None:
    """A certificate with the names of two tenants is refused; the same one twice is one."""
    clients = client_identities.read(written(tmp_path, ADA + BOB))
    both = (b"spiffe://x.org/ada", b"bob.example.org")
    assert client_identities.identify(clients, both) is None
    assert client_identities.identify(clients, both[:1] * 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[client", "clients.toml: "),
        (ADA + ADA, "two have the same identity"),
        (ADA.replace("writer", "owner"), "client.0.role"),
        (ADA.replace('"ada"', '"a/b"'), "client.0.tenant"),
        ("[client]\n", "client"),
        (ADA + "colour = 1\n", "client.0.colour"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A malformed file is refused with its name and the field at fault."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        client_identities.read(path)
    assert str(path) in str(caught.value) and said in str(caught.value)
