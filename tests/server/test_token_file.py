"""The file of tokens: what is in it, who may read it, and what happens at once."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recalld.server import token_file
from recalld.server.errors import ConfigError
from recalld.server.permissions import Identity, Role
from recalld.server.token_file import Grant
from recalld.storage.fsio import Files

NOW = datetime(2026, 12, 1, tzinfo=UTC)
NOW_US = 1_796_083_200_000_000
HOUR_US = 3_600_000_000


def made(path: Path, tenant: str = "acme", **more: Any) -> str:
    """The text of a new token."""
    grant = Grant(tenant, more.pop("role", Role.WRITER), **more)
    return token_file.create(path, grant, NOW, Files())[1]


def test_a_token_stands_for_its_tenant_and_role(tmp_path: Path) -> None:
    """Each token identifies the tenant and the role it was made for."""
    path = tmp_path / "tokens.json"
    first, second = made(path), made(path, "zoo", role=Role.READER)
    rows = token_file.read(path)
    assert token_file.identify(rows, first, NOW_US) == Identity("acme", Role.WRITER)
    assert token_file.identify(rows, second, NOW_US) == Identity("zoo", Role.READER)


def test_the_file_holds_hashes_only(tmp_path: Path) -> None:
    """The file has the SHA-256 of the whole token, nothing of its secret, and the mode 0600."""
    path = tmp_path / "tokens.json"
    text = made(path, name="agent 1")
    written = path.read_text("utf-8")
    [row] = json.loads(written)["tokens"]
    assert row == {
        "id": text.split("_")[1],
        "tenant": "acme",
        "role": "writer",
        "name": "agent 1",
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "create_time": "2026-12-01T00:00:00Z",
    }
    assert text.split("_", 2)[2] not in written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["tokens.json"]


def test_tokens_have_256_random_bits(tmp_path: Path) -> None:
    """A secret is 43 base64url characters, and no two are alike."""
    texts = {made(tmp_path / "tokens.json") for _ in range(20)}
    assert len({text.split("_", 2)[2] for text in texts}) == 20
    assert {len(text.split("_", 2)[2]) for text in texts} == {43}


def test_everything_else_is_refused(tmp_path: Path) -> None:
    """A token that differs in any part, an unknown id, another shape and nothing are refused."""
    path = tmp_path / "tokens.json"
    text, other = made(path), made(path)
    rows = token_file.read(path)
    head, token_id, secret = text.split("_", 2)
    flipped = ("B" if secret[0] == "A" else "A") + secret[1:]
    for wrong in (
        f"{head}_{token_id}_{flipped}",
        f"{head}_{token_id}_{other.split('_', 2)[2]}",
        f"{head}_{'0' * 12}_{secret}",
        f"{head}_{token_id.upper()}x_{secret}",
        text + " ",
        text[:-1],
        text.upper(),
        rows[token_id].sha256,
        secret,
        "",
        "\ud800",
    ):
        assert token_file.identify(rows, wrong, NOW_US) is None, wrong


def test_expiry(tmp_path: Path) -> None:
    """A token counts until its end and not from then on; without an end it counts for ever."""
    path = tmp_path / "tokens.json"
    short, long = made(path, lifetime=timedelta(hours=1)), made(path)
    rows = token_file.read(path)
    assert token_file.identify(rows, short, NOW_US + HOUR_US - 1)
    assert token_file.identify(rows, short, NOW_US + HOUR_US) is None
    assert token_file.identify(rows, long, NOW_US + 10**6 * HOUR_US)


def test_revoking(tmp_path: Path) -> None:
    """A revoked token is gone, the others stay; revoking it again finds none."""
    path = tmp_path / "tokens.json"
    gone, kept = made(path), made(path)
    token_id = gone.split("_")[1]
    assert token_file.revoke(path, token_id, Files())
    assert not token_file.revoke(path, token_id, Files())
    rows = token_file.read(path)
    assert token_file.identify(rows, gone, NOW_US) is None
    assert token_file.identify(rows, kept, NOW_US)


@pytest.mark.parametrize("tenant", ["", " ", "a b", "a/b", "..", "-a", "x" * 65, "ä", "a\n"])
def test_tenants_have_plain_names(tmp_path: Path, tenant: str) -> None:
    """A tenant that could be mistaken for something else is refused; nothing is written."""
    with pytest.raises(ConfigError, match="tenant"):
        made(tmp_path / "tokens.json", tenant)
    assert not (tmp_path / "tokens.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "file: Invalid JSON"),
        ("[]", "file: Input should be an object"),
        ('{"version": 2}', "version"),
        ('{"version": 1, "tokens": [{}]}', "tokens.0.id"),
        ('{"version": 1, "keys": []}', "keys"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A file that is none of tokens is refused with its name and the field at fault."""
    path = tmp_path / "tokens.json"
    path.touch(0o600)
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        token_file.read(path)
    assert str(caught.value).startswith(f"{path}: {said}")


def test_a_refusal_quotes_no_hash(tmp_path: Path) -> None:
    """What is wrong in a row is told without the row's content."""
    path = tmp_path / "tokens.json"
    made(path)
    content = json.loads(path.read_text())
    content["tokens"][0]["role"] = "owner"
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=r"tokens\.0\.role") as caught:
        token_file.read(path)
    assert content["tokens"][0]["sha256"] not in str(caught.value)


@pytest.mark.parametrize(("mode", "is_taken"), [(0o600, 1), (0o640, 1), (0o660, 0), (0o604, 0)])
def test_modes(tmp_path: Path, mode: int, is_taken: int) -> None:
    """The group may read, as it does a mounted secret; only the owner writes, others do nothing."""
    path = tmp_path / "tokens.json"
    made(path)
    path.chmod(mode)
    if is_taken:
        assert token_file.read(path)
    else:
        with pytest.raises(ConfigError, match=f"{path}: has the mode {mode:04o}"):
            token_file.read(path)


class Failing(Files):
    """A disk on which the new file cannot take the old one's place."""

    def rename(self, source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    """When the new file cannot be written the old one stays, and nothing is left beside it."""
    path = tmp_path / "tokens.json"
    kept = made(path)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="cannot be written"):
        token_file.create(path, Grant("acme", Role.READER), NOW, Failing())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tokens.json"]
    assert token_file.identify(token_file.read(path), kept, NOW_US)


def test_commands_at_once_lose_nothing(tmp_path: Path) -> None:
    """Tokens made by several processes at once are all there afterwards."""
    path = tmp_path / "tokens.json"
    with ProcessPoolExecutor(2) as pool:
        texts = list(pool.map(made, [path] * 12))
    rows = token_file.read(path)
    assert len(rows) == 12
    assert all(token_file.identify(rows, text, NOW_US) for text in texts)


def test_their_number_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full file takes no more tokens, and says so."""
    monkeypatch.setattr(token_file, "TOKEN_COUNT_MAX", 1)
    made(tmp_path / "tokens.json")
    with pytest.raises(ConfigError, match="holds 1 tokens already"):
        made(tmp_path / "tokens.json")
