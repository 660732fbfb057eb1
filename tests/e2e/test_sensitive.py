"""Sensitive data that went through a real server is nowhere on its disk and in no line of its log.

Everything is looked through: the bytes of every file while the log of the database is open, after a
kill and after an orderly stop, and every value of every table, unpacked where it is packed.
"""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import grpc
import pytest

from recalld.client.testing import RunningServer, running_server
from recalld.v1 import admin_service_pb2, recall_service_pb2
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import memory, must, remember_request, scope
from tests.server.stubs import TIMEOUT_S, Stubs, refusal_of

VALUES = {
    "resident_id": "11010519491231002X",
    "bank_card": "4111111111111111",
    "phone": "13800138000",
    "email": "ann.lee@example.com",
    "api_key": "sk-proj-Zq8Lm2Xv7Rt4Kp9Wn3Ys6Hd1",
    "password": "correct-horse-42",
}
SENTENCES = {name: f"note: {value}" for name, value in VALUES.items()} | {
    "password": f"my password is {VALUES['password']}"
}
KEY = base64.b64encode(bytes(range(32))).decode()


def served(policy: str, data_dir: Path) -> dict[str, object]:
    """Arguments of a server with one policy for every class, and the most talkative log.

    "default" stands for the policies of a server without settings.
    """
    policies = {f"RECALLD_SENSITIVE__{name.upper()}": policy for name in VALUES}
    policies = {} if policy == "default" else policies
    settings = {"RECALLD_LOG_LEVEL": "debug", "RECALLD_TRACES__SAMPLE_SHARE": "1"}
    return {"data_dir": data_dir, "env": {**policies, **settings, "RECALLD_SEAL_KEY": KEY}}


def talk(stubs: Stubs) -> None:
    """Every call that carries text, with each value in each field; refusals are part of it."""
    for name, value in VALUES.items():
        text = SENTENCES[name]
        made = memory(
            text,
            value={"it": text, "list": [{"deep": text}]},
            metadata={"it": text},
            relevant_when=[text],
        )
        made.source.uri = f"https://example.org/?q={value}"
        made.source.message_id = value
        plain = memory(f"plain {name}")
        with suppress(grpc.RpcError):
            stubs.memory.Remember(remember_request(name, made, id=f"r {name}"), timeout=TIMEOUT_S)
        stored = stubs.memory.Remember(remember_request(name, plain), timeout=TIMEOUT_S)
        update = pb.UpdateMemoryRequest(memory=made, request_id=f"u {name}")
        update.memory.scope.CopyFrom(scope(name))
        update.memory.id = stored.results[0].id
        for request in (update, pb.UpdateMemoryRequest(memory=update.memory, etag=text)):
            with suppress(grpc.RpcError):
                stubs.memory.UpdateMemory(request, timeout=TIMEOUT_S)
        # A password by itself is a word like any other: only a sentence makes one of it.
        named = SENTENCES[name] if name == "password" else value
        for named_request in (
            remember_request(name, memory("x", key=named)),
            remember_request(name, memory("x"), id=named),
            remember_request(name, memory("x", metadata={named: "x"})),
        ):
            with suppress(grpc.RpcError):
                stubs.memory.Remember(named_request, timeout=TIMEOUT_S)
        forget = pb.ForgetRequest(scope=scope(name), content=text, request_id=f"f {name}")
        stubs.memory.Forget(forget, timeout=TIMEOUT_S)
        asked = {"scope": scope(name), "text": text, "explain": True}
        stubs.recall.Recall(recall_service_pb2.RecallRequest(**asked), timeout=TIMEOUT_S)
        context = recall_service_pb2.BuildContextRequest(recall=asked)
        with suppress(grpc.RpcError):
            stubs.recall.BuildContext(context, timeout=TIMEOUT_S)


def bytes_of(data_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of every file."""
    for path in sorted(data_dir.rglob("*")):
        if path.is_file():
            yield path.name, path.name.encode() + path.read_bytes()


def cells_of(data_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Tables and every value in them."""
    with duckdb.connect(str(data_dir / "recalld.duckdb"), read_only=True) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                for cell in row:
                    data = cell if isinstance(cell, bytes) else str(cell).encode()
                    yield table, data
                    with suppress(zlib.error):
                        yield table, zlib.decompress(data)


def leaks(places: Iterator[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Classes whose value stands somewhere, and where."""
    found = {
        (name, place)
        for place, data in places
        for name, value in VALUES.items()
        if value.encode() in data
    }
    return sorted(found)


def all_leaks(server: RunningServer, copy: Path) -> list[tuple[str, str]]:
    """Leaks while it runs, as a kill would leave it, and after its end; and in its log."""
    found = leaks(bytes_of(server.data_dir))
    shutil.copytree(server.data_dir, copy)
    server.stop()
    found += leaks(bytes_of(copy)) + leaks(bytes_of(server.data_dir))
    found += leaks(cells_of(server.data_dir))
    lines = server.log_lines()
    assert all(isinstance(json.loads(line), dict) for line in lines)
    return found + leaks(("log", line.encode()) for line in lines)


@pytest.mark.parametrize("policy", ["default", "seal"])
def test_no_value_is_left_anywhere(tmp_path: Path, policy: str) -> None:
    """Refused, replaced or sealed: no value is in any file, table or line of the log."""
    with (
        running_server(**served(policy, tmp_path / "data")) as server,  # type: ignore[arg-type]
        Stubs(server.target) as stubs,
    ):
        talk(stubs)
        assert all_leaks(server, tmp_path / "copy") == []


def test_a_value_that_is_allowed_is_found(tmp_path: Path) -> None:
    """The search finds what is there: with everything allowed each value is in file and table."""
    with (
        running_server(**served("allow", tmp_path / "data")) as server,  # type: ignore[arg-type]
        Stubs(server.target) as stubs,
    ):
        talk(stubs)
        found = all_leaks(server, tmp_path / "copy")
    assert {name for name, place in found if place == "memories"} == set(VALUES)
    assert {name for name, place in found if place.endswith(".wal")} == set(VALUES)
    assert {place for _, place in found if place in ("log", "traces")} == set()


def test_the_writer_is_told(shared_server: RunningServer, stubs: Stubs, user: str) -> None:
    """With the default settings a card is refused by field and class, a telephone replaced."""
    refusal = refusal_of(
        stubs.memory.Remember, remember_request(user, memory(SENTENCES["bank_card"]))
    )
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "SENSITIVE_DATA")
    assert refusal.fields == ["memories[0].memory.content"]
    assert "bank_card" in refusal.message and VALUES["bank_card"] not in refusal.message
    assert stubs.state(user)[0] == 0
    answer = stubs.memory.Remember(remember_request(user, memory(SENTENCES["phone"])))
    assert [(f.sensitive_class, f.action) for f in answer.results[0].screened] == [(3, 1)]
    request = pb.ListMemoriesRequest(scope=scope(user), filter=must())
    assert [m.content for m in stubs.memory.ListMemories(request).memories] == ["note: [phone]"]


def test_a_sealed_value_survives_the_server(tmp_path: Path) -> None:
    """A sealed number opens after kill -9, with the same key."""
    settings = served("seal", tmp_path)
    with running_server(**settings) as server:  # type: ignore[arg-type]
        with Stubs(server.target) as stubs:
            written = stubs.memory.Remember(
                remember_request("ann", memory(SENTENCES["phone"])), timeout=TIMEOUT_S
            )
        request = admin_service_pb2.OpenSealedRequest(scope=scope("ann"), id=written.results[0].id)
        server.kill()
        server.restart()
        with Stubs(server.target) as stubs:
            values = stubs.admin.OpenSealed(request, timeout=TIMEOUT_S).values
    assert [value.text for value in values] == [VALUES["phone"]]
