"""Kill -9 while writes go on: what was acknowledged is there afterwards, once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import grpc

from recalld.client.testing import running_server
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs

WRITER_COUNT = 6
ROUND_COUNT = 2
BATCH_COUNT = 3
RUN_S = 0.5


class Writing:
    """One writer: sends batches one after the other until the server is gone.

    A request that was not answered is sent again, under the same id, to the next server.
    """

    def __init__(self, number: int) -> None:
        self.user = f"user-{number % 3}"
        self.number = number
        self.next_batch = 0
        self.acknowledged: dict[str, str] = {}
        self.open: pb.RememberRequest | None = None

    def request(self) -> pb.RememberRequest:
        """The next batch; events, so that each is a memory of its own."""
        names = [f"w{self.number} b{self.next_batch} m{n}" for n in range(BATCH_COUNT)]
        self.next_batch += 1
        made = [memory(name, kind=4) for name in names]
        return remember_request(self.user, *made, id=names[0])

    def run(self, target: str) -> None:
        with Stubs(target) as stubs:
            while True:
                if self.open is None:
                    self.open = self.request()
                try:
                    answer = stubs.memory.Remember(self.open, timeout=20)
                except grpc.RpcError:
                    return
                for item, result in zip(self.open.memories, answer.results, strict=True):
                    self.acknowledged[item.memory.content] = result.id
                self.open = None


def held(stubs: Stubs, user: str) -> dict[str, list[str]]:
    """Ids of a user's memories by content."""
    found: dict[str, list[str]] = {}
    request = pb.ExportMemoriesRequest(scope=scope(user))
    for item in stubs.memory.ExportMemories(request, timeout=20):
        found.setdefault(item.memory.content, []).append(item.memory.id)
    return found


def test_kill_in_the_middle_of_writes(tmp_path: Path) -> None:
    """After each kill every acknowledged memory is there, under its id and once, no batch torn."""
    writers = [Writing(number) for number in range(WRITER_COUNT)]
    with running_server(data_dir=tmp_path) as server:
        for _ in range(ROUND_COUNT):
            threads = [
                threading.Thread(target=writer.run, args=(server.target,)) for writer in writers
            ]
            for thread in threads:
                thread.start()
            time.sleep(RUN_S)
            server.kill()
            for thread in threads:
                thread.join(30)
            server.restart()
            with Stubs(server.target) as stubs:
                for writer in writers:
                    check(stubs, writer)
    assert sum(len(writer.acknowledged) for writer in writers) > 2 * WRITER_COUNT


def check(stubs: Stubs, writer: Writing) -> None:
    """Everything this writer was promised holds, and its open request is whole or absent."""
    found = held(stubs, writer.user)
    for content, memory_id in writer.acknowledged.items():
        assert found.get(content) == [memory_id]
    assert all(len(ids) == 1 for ids in found.values())
    if writer.open is None:
        return
    names = [item.memory.content for item in writer.open.memories]
    assert len([name for name in names if name in found]) in (0, len(names))
    # Sent again, it is applied if it was not, and answered as before if it was.
    answer = stubs.memory.Remember(writer.open, timeout=20)
    after = held(stubs, writer.user)
    for name, result in zip(names, answer.results, strict=True):
        assert after[name] == [result.id]
        assert found.get(name, [result.id]) == [result.id]
        writer.acknowledged[name] = result.id
    writer.open = None
