"""`recalld token` as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from recalld.server import token_file
from recalld.server.__main__ import app
from recalld.server.permissions import Identity, Role

RUN = CliRunner()
LONG_AGO_US, FAR_US = 1, 4_102_444_800_000_000


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The data directory is the test's; nothing comes from whoever runs it."""
    for name in ("RECALLD_LISTEN", "RECALLD_AUTH__TOKENS_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RECALLD_DATA_DIR", str(tmp_path / "data"))


def token(*arguments: str, code: int = 0) -> Result:
    """Runs a command that ends with a code."""
    done = RUN.invoke(app, ["token", *arguments])
    assert done.exit_code == code, done.output
    return done


def test_the_life_of_a_token(tmp_path: Path) -> None:
    """A token is printed alone and once, listed without its secret, and revoked by its id."""
    text = token("create", "--tenant", "acme", "--role", "writer", "--name", "a\tb").stdout.strip()
    path = tmp_path / "data" / "tokens.json"
    identity = token_file.identify(token_file.read(path), text, LONG_AGO_US)
    assert identity == Identity("acme", Role.WRITER)
    listed = token("list").output
    assert listed == f"{text.split('_')[1]}\tacme\twriter\tnever\ta b\n"
    token_id = text.split("_")[1]
    assert token("revoke", token_id).stdout == f"revoked {token_id}\n"
    assert token("list").output == ""
    assert "there is no token" in token("revoke", token_id, code=1).output


def test_json(tmp_path: Path) -> None:
    """As JSON a new token comes with all that is known of it; a list has no secrets or hashes."""
    made = token(*("create", "--tenant", "acme", "--role", "reader", "--expires", "90d", "--json"))
    row = json.loads(made.stdout)
    assert set(row) == {"id", "tenant", "role", "name", "create_time", "expire_time", "token"}
    rows = token_file.read(tmp_path / "data" / "tokens.json")
    kept = rows[row["id"]]
    assert kept.expire_time is not None
    assert (kept.expire_time - kept.create_time).days == 90
    assert token_file.identify(rows, row["token"], LONG_AGO_US)
    assert token_file.identify(rows, row["token"], FAR_US) is None
    [line] = token("list", "--json").stdout.splitlines()
    del row["token"]
    assert json.loads(line) == {**row, "expired": False}


def test_a_configured_place(tmp_path: Path) -> None:
    """`auth.tokens_file` of the configuration is where tokens are made."""
    file = tmp_path / "recalld.toml"
    place = tmp_path / "elsewhere" / "t.json"
    file.write_text(f'[auth]\ntokens_file = "{place}"\n')
    token("create", "--tenant", "acme", "--role", "admin", "--config", str(file))
    assert len(token_file.read(place)) == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tenant", "acme"), "--role"),
        (("--role", "reader"), "--tenant"),
        (("--tenant", "acme", "--role", "owner"), "owner"),
        (("--tenant", "a b", "--role", "reader"), "tenant"),
        (("--tenant", "acme", "--role", "reader", "--expires", "soon"), "such as 90d"),
        (("--tenant", "acme", "--role", "reader", "--expires", "0d"), "such as 90d"),
        (("--tenant", "acme", "--role", "reader", "--expires", "99999w"), "at most 3650d"),
        (("--tenant", "acme", "--role", "reader", "--name", "x" * 257), "name"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """Wrong usage ends with code 2, names what is wrong, and makes nothing."""
    assert said in token("create", *arguments, code=2).output
    assert not (tmp_path / "data" / "tokens.json").exists()


def test_a_broken_file(tmp_path: Path) -> None:
    """A file that is none of tokens is named and left as it is."""
    path = tmp_path / "data" / "tokens.json"
    path.parent.mkdir()
    path.touch(0o600)
    path.write_text("{")
    for arguments in (("list",), ("revoke", "x"), ("create", "--tenant", "a", "--role", "reader")):
        assert str(path) in token(*arguments, code=2).output
    assert path.read_text() == "{"
