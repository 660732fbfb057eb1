"""unseal, and what remember says of replaced data, against a real server."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.client.testing import RunningServer, running_server

from .conftest import Recalld

PHONE = "13800138000"


@pytest.fixture(scope="module")
def sealing() -> Iterator[RunningServer]:
    """A server that seals telephones."""
    key = base64.b64encode(bytes(32)).decode()
    env = {"RECALLD_SENSITIVE__PHONE": "seal", "RECALLD_SEAL_KEY": key}
    with running_server(env=env) as server:
        yield server


def test_unseal_shows_originals(bare_recalld: Recalld, sealing: RunningServer) -> None:
    """The original stands beside placeholder and class; storing it says that it was sealed."""
    where = ("-u", "u", "--target", sealing.target)
    ran = bare_recalld("remember", f"call {PHONE}", *where)
    assert ran.err.strip() == "memories[0].memory.content: phone sealed"
    memory_id = ran.out.split()[1]
    placeholder, kind, text = bare_recalld("unseal", memory_id, *where).out.strip().split("\t")
    assert (kind, text) == ("phone", PHONE)
    shown = json.loads(bare_recalld("unseal", memory_id, *where, "--json").out)
    assert shown == {"placeholder": placeholder, "sensitive_class": "phone", "text": PHONE}
    assert bare_recalld("unseal", "0" * 32, *where).code == 3


def test_a_refused_memory_is_wrong_usage(recalld: Recalld, user: str) -> None:
    """A card is refused with code 2 and a line that names field and class, not the number."""
    ran = recalld("remember", "card 4111 1111 1111 1111", "-u", user)
    assert ran.code == 2
    assert "memories[0].memory.content" in ran.err and "bank_card" in ran.err
    assert "4111" not in ran.err


def test_an_import_reports_the_line(recalld: Recalld, user: str, tmp_path: Path) -> None:
    """A line with a card stops the import with its number; --skip-bad stores the others."""
    file = tmp_path / "facts.jsonl"
    texts = ("Likes tea", "card 4111111111111111", f"call {PHONE}")
    file.write_text("".join(json.dumps({"content": text}) + "\n" for text in texts), "utf-8")
    stopped = recalld("import", str(file), "-u", user)
    assert stopped.code != 0 and ":2:" in stopped.err.replace("line 2", ":2:")
    assert "4111111111111111" not in stopped.err
    recalld("import", str(file), "-u", user, "--skip-bad")
    contents = sorted(line.split("\t")[-1] for line in recalld("list", "-u", user).lines)
    assert contents == ["Likes tea", "call [phone]"]
