"""Kills of a real server while it embeds anew after a change of the model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from recalld.client import Client
from recalld.client.models import Reembedding
from recalld.client.testing import RunningServer, running_server
from recalld.index.hash_embedder import HashEmbedder
from recalld.storage.duckdb_store import DuckDBStore
from recalld.v1 import admin_service_pb2 as admin
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import memory, remember_request, scope, texts
from tests.server.stubs import Stubs
from tests.storage import kept

OLD_DIM, NEW_DIM, COUNT, WAIT_S = 64, 96, 400, 60


@contextlib.contextmanager
def serving(data_dir: Path, dim: int, share: float) -> Iterator[tuple[RunningServer, Stubs]]:
    """A server whose model makes vectors of this width."""
    env = {"RECALLD_EMBEDDER__HASH_DIM": str(dim), "RECALLD_EMBEDDER__REEMBED_SHARE": str(share)}
    with running_server(data_dir=data_dir, env=env) as server, Stubs(server.target) as stubs:
        yield server, stubs


def progress(stubs: Stubs) -> admin.ReembeddingInfo:
    """What GetServerInfo says of it."""
    return stubs.admin.GetServerInfo(admin.GetServerInfoRequest(), timeout=WAIT_S).reembedding


def wait_until(is_done: Callable[[], bool]) -> None:
    """Waits until something is so, or fails."""
    end_s = time.monotonic() + WAIT_S
    while not is_done():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def recalled(stubs: Stubs, number: int) -> None:
    """Every memory is found by its words and vectors, at any time."""
    request = pb.RecallRequest(scope=scope("u"), text=f"what about number{number}", k=3)
    answer = stubs.recall.Recall(request, timeout=WAIT_S)
    assert f"a fact about number{number}" in texts(answer.hits)
    assert not answer.degraded


def renewed_count(data_dir: Path) -> tuple[int, set[str]]:
    """Vectors that wait for their place, and the models of those in place."""
    store = DuckDBStore(data_dir, kept.options())
    waiting = store.renewals.of_partition("default", "u", HashEmbedder(NEW_DIM).fingerprint)
    models = {row.fingerprint for row in store.load()}
    assert store.check() == []
    store.close()
    return len(waiting), models


def test_a_kill_while_embedding_anew_costs_no_work(tmp_path: Path) -> None:
    """Killed in the middle, a server goes on where it was, answering all the time."""
    with serving(tmp_path, OLD_DIM, 1.0) as (_, stubs):
        for start in range(0, COUNT, 200):
            made = [memory(f"a fact about number{n}") for n in range(start, start + 200)]
            stubs.memory.Remember(remember_request("u", *made), timeout=WAIT_S)
    with serving(tmp_path, NEW_DIM, 0.02) as (server, stubs):
        wait_until(lambda: 0 < progress(stubs).memories_left < COUNT)
        recalled(stubs, 7)
        server.kill()
    waiting, models = renewed_count(tmp_path)
    assert 0 < waiting < COUNT and models == {HashEmbedder(OLD_DIM).fingerprint}
    with serving(tmp_path, NEW_DIM, 1.0) as (server, stubs):
        wait_until(lambda: progress(stubs).users_left == 0)
        told = progress(stubs)
        assert (told.memory_count, told.memories_left, told.users_held_back) == (COUNT, 0, 0)
        recalled(stubs, 399)
        with Client(server.target, user_id="u") as client:
            assert client.server_info().reembedding == Reembedding(COUNT, 0, 0, 0)
        assert server.stop() == 0
    assert renewed_count(tmp_path) == (0, {HashEmbedder(NEW_DIM).fingerprint})
