"""Whatever a caller sends, a handler answers or refuses; it never fails, and goes on working."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.client.testing import running_server
from recalld.server import status, wire
from recalld.server.call import Call
from recalld.server.services import SERVICES
from tests.server.core import Core, memory, opened, texts
from tests.server.messages import HOSTILE, WILDNESS, Maker, mutated
from tests.server.stubs import TIMEOUT_S, Stubs

METHODS = {
    method.name: method
    for service, names in SERVICES
    for method in service.methods
    if method.name in names and "Snapshot" not in method.name
}
"""Those of a core in memory; snapshots are of files, and a real server has them (below)."""
ALL_METHODS = [method for service, _ in SERVICES for method in service.methods]
DIM = 16
CASE_COUNT = 60
WIRE_CASE_COUNT = 2
EVENTS = ("ready", "call refused", "snapshot taken", "snapshot removed", "stopping", "stopped")
FAULTS = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS)


@dataclass
class Fuzzed:
    """A core on a loop of its own, and what its callers know of it."""

    core: Core
    loop: asyncio.AbstractEventLoop
    known: list[str]

    def message(self, method: MethodDescriptor, rng: random.Random) -> bytes:
        """A random request of a method."""
        maker = Maker(rng, self.known, DIM, rng.choice(WILDNESS))
        return bytes(maker.message(method.input_type).SerializeToString())

    def send(self, method: MethodDescriptor, body: bytes) -> None:
        """Sends bytes as the dispatcher would; whatever is raised must have a status of its own."""
        self.loop.run_until_complete(self._send(method, body))

    async def _send(self, method: MethodDescriptor, body: bytes) -> None:
        call: Call = self.core.caller()
        try:
            answer = self.core.handlers[method.name](
                wire.parse(GetMessageClass(method.input_type), body), call
            )
            if inspect.isasyncgen(answer):
                async for part in answer:
                    part.SerializeToString()
            else:
                wire.encode(await answer)
        except Exception as error:
            row = status.lookup(error)
            assert row is not None and row[0] not in FAULTS, (method.name, body, error)
            str(error).encode()


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    """A core with a few memories of two users."""
    with asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        manager = opened(dim=DIM)
        core = runner.run(manager.__aenter__())
        stack.callback(lambda: runner.run(manager.__aexit__(None, None, None)))
        known = ["ann", "bob", "city", "tea"]
        for user in ("ann", "bob"):
            made = [memory("Lives in Porto", key="city"), memory("Likes tea"), memory("喜欢喝茶")]
            answer = runner.run(core.remember(user, *made))
            known += [result.id for result in answer.results]
        yield Fuzzed(core, runner.get_loop(), known)
        asked = runner.run(core.remember("last", memory("Still here", key="state")))
        found = runner.run(core.recall("last", "still here", min_score=0.0))
        assert texts(found.hits) == ["Still here"] and asked.revision > 0
        assert core.store.check() == []


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=CASE_COUNT)
@given(seed=st.integers(0, 2**63))
def test_no_message_breaks_a_handler(fuzzed: Fuzzed, name: str, seed: int) -> None:
    """A well-formed message of any content is answered, or refused with a status of its own."""
    fuzzed.send(METHODS[name], fuzzed.message(METHODS[name], random.Random(seed)))


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=CASE_COUNT)
@given(seed=st.integers(0, 2**63), body=st.none() | st.binary(max_size=64))
def test_no_bytes_break_a_handler(fuzzed: Fuzzed, name: str, seed: int, body: bytes | None) -> None:
    """Any bytes, and messages with changed bytes, are answered or refused."""
    rng = random.Random(seed)
    if body is None:
        body = mutated(rng, fuzzed.message(METHODS[name], rng))
    fuzzed.send(METHODS[name], body)


def status_of(stubs: Stubs, method: MethodDescriptor, body: bytes, request_id: str) -> Any:
    """The status code of a call with these bytes; None when it was answered."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    metadata = (("x-request-id", request_id),)
    try:
        if method.server_streaming:
            list(stubs.channel.unary_stream(path)(body, timeout=TIMEOUT_S, metadata=metadata))
        else:
            stubs.channel.unary_unary(path)(body, timeout=TIMEOUT_S, metadata=metadata)
    except grpc.RpcError as error:
        return error.code()
    return None


def test_a_server_outlives_all_of_it() -> None:
    """Over the wire no method fails, the log keeps to one object a line, and holds no text."""
    rng = random.Random(7)
    env = {"RECALLD_LOG_LEVEL": "debug", "RECALLD_TRACES__SAMPLE_SHARE": "1"}
    with running_server(env=env) as server, Stubs(server.target) as stubs:
        for method in ALL_METHODS:
            for _ in range(WIRE_CASE_COUNT):
                maker = Maker(rng, ["ann", "city"], DIM, rng.choice(WILDNESS))
                made = maker.message(method.input_type).SerializeToString()
                for body in (made, mutated(rng, made), rng.randbytes(40)):
                    code = status_of(stubs, method, body, rng.choice(("r", '"}{"event":"x', "%0a")))
                    assert code not in FAULTS, (method.name, body)
        assert stubs.state("nobody")[0] == 0
        lines = server.log_lines()
        assert server.stop() == 0
    assert len(lines) > 10
    for line in lines:
        entry = json.loads(line)
        assert line.isascii() and isinstance(entry, dict)
        assert entry["event"] in EVENTS, entry
    whole = "\n".join(lines)
    assert [t for t in HOSTILE if len(t) > 12 and json.dumps(t)[1:-1] in whole] == []
