"""A slow embedder and callers who do not wait for it: nothing is half done, or in the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from recalld.client.testing import running_server
from recalld.v1 import recall_service_pb2
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import TIMEOUT_S, Stubs, refusal_of

SLOW = """
import os, time
from recalld.index import hash_embedder

embed = hash_embedder.HashEmbedder.embed

def slowly(self, texts, *, is_query):
    for text in texts:
        if "slow" in text:
            with open(os.environ["EMBEDDED_FILE"], "a") as file:
                file.write(text + "\\n")
            time.sleep(0.3)
    return embed(self, texts, is_query=is_query)

hash_embedder.HashEmbedder.embed = slowly
"""
"""Read by the server's interpreter when it starts: a real server whose model is slow for some."""
SHORT_S = 0.7
COUNT = 24
CODE = grpc.StatusCode


@pytest.fixture(scope="module")
def embedded_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slow") / "embedded"


@pytest.fixture(scope="module")
def slow(embedded_file: Path) -> Iterator[Stubs]:
    """A server with a slow embedder and a user who drinks tea."""
    (embedded_file.parent / "sitecustomize.py").write_text(SLOW, encoding="utf-8")
    path = os.pathsep.join([str(embedded_file.parent), os.environ.get("PYTHONPATH", "")])
    env = {"PYTHONPATH": path, "EMBEDDED_FILE": str(embedded_file)}
    with running_server(env=env) as server, Stubs(server.target) as stubs:
        stubs.memory.Remember(remember_request("ada", memory("likes green tea")), timeout=TIMEOUT_S)
        # The first call of a connection is no measure of the others.
        asked = recall_service_pb2.RecallRequest(scope=scope("ada"), text="tea")
        stubs.recall.Recall(asked, timeout=TIMEOUT_S)
        yield stubs


def slow_texts(name: str) -> list[str]:
    return [f"slow {name} {i}" for i in range(COUNT)]


def remembering(stubs: Stubs, user: str, texts: list[str]) -> grpc.Future:
    """A Remember under way."""
    request = remember_request(user, *[memory(text) for text in texts])
    future: grpc.Future = stubs.memory.Remember.future(request, timeout=TIMEOUT_S)
    return future


def eventually(is_so: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end_s = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_recall_by_words_alone(slow: Stubs) -> None:
    """A recall that cannot be embedded in time is answered by its words, and says so."""
    request = recall_service_pb2.RecallRequest(scope=scope("ada"), text="slow " * 9 + "green tea")
    first = remembering(slow, "occupying", slow_texts("occupying"))
    answer = slow.recall.Recall(request, timeout=0.25)
    assert [hit.memory.content for hit in answer.hits] == ["likes green tea"]
    assert answer.degraded == ["embedder_deadline"]
    first.cancel()


def test_write_past_its_deadline(slow: Stubs, embedded_file: Path) -> None:
    """A write whose deadline passes stores nothing, and what was not embedded yet never is."""
    texts = slow_texts("late")
    request = remember_request("late", *[memory(text) for text in texts])
    assert refusal_of(slow.memory.Remember, request, timeout=SHORT_S).code == CODE.DEADLINE_EXCEEDED
    # Behind it in the queue: once this is stored, whatever ran of the other has run.
    slow.memory.Remember(remember_request("next", memory("quick")), timeout=TIMEOUT_S)
    assert slow.state("late")[0] == 0
    begun = embedded_file.read_text(encoding="utf-8").count("slow late")
    assert begun < COUNT


def test_write_whose_caller_left(slow: Stubs, embedded_file: Path) -> None:
    """A write whose caller goes away without a deadline is not begun any more, either."""
    pending = remembering(slow, "gone", slow_texts("gone"))
    eventually(lambda: "slow gone" in embedded_file.read_text(encoding="utf-8"))
    pending.cancel()
    slow.memory.Remember(remember_request("next", memory("quicker")), timeout=TIMEOUT_S)
    assert slow.state("gone")[0] == 0
    assert embedded_file.read_text(encoding="utf-8").count("slow gone") < COUNT


def test_write_behind_too_many(slow: Stubs, embedded_file: Path) -> None:
    """A write that would have to wait longer than its deadline is refused at once, with a delay."""
    pending = remembering(slow, "many", slow_texts("many"))
    eventually(lambda: "slow many 8" in embedded_file.read_text(encoding="utf-8"))
    refusal = refusal_of(
        slow.memory.Remember, remember_request("behind", memory("slow one")), timeout=1.0
    )
    assert (refusal.code, refusal.reason) == (CODE.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert refusal.retry_after_s is not None
    assert refusal.retry_after_s > 1.0
    pending.cancel()
    assert slow.state("behind")[0] == 0
