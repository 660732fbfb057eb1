"""Concurrent writers of a real server, and the ledger of what each of them was promised.

Every batch is one call: some events, and the next value of the writer's own counter, which replaces
the value before. So a batch that is half there, a replaced value that is not, or a promise that is
not kept shows in what the server holds after a kill.
"""

from __future__ import annotations

import threading

import grpc

from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs

EVENT_COUNT = 3
EVENT, STATE = 4, 3
WAIT_S = 120
ACTIVE, SUPERSEDED = 1, 2


class Writer:
    """One writer: sends batch after batch until it is stopped or the server is gone.

    Attributes:
        user: whose memories; several writers share one.
        acknowledged: id of every memory that the server promised to keep, by content.
        batch_count: batches promised.
        open: the batch that was sent and not answered.
    """

    def __init__(self, number: int) -> None:
        self.user = f"user-{number % 2}"
        self.key = f"counter.{number}"
        self.number = number
        self.acknowledged: dict[str, str] = {}
        self.batch_count = 0
        self.open: pb.RememberRequest | None = None

    def names(self, batch: int) -> list[str]:
        """Contents of the events of a batch."""
        return [f"w{self.number} b{batch} m{n}" for n in range(EVENT_COUNT)]

    def value(self, batch: int) -> str:
        """The counter after a batch."""
        return f"w{self.number} counts {batch}"

    def run(self, target: str, stop: threading.Event) -> None:
        with Stubs(target) as stubs:
            while not stop.is_set():
                self.open = self.open or self._request(self.batch_count + 1)
                try:
                    self._take(stubs.memory.Remember(self.open, timeout=WAIT_S))
                except grpc.RpcError:
                    return

    def check(self, stubs: Stubs) -> None:
        """Everything promised is there, once and under its id; the open batch is whole or absent.

        The open batch is then sent again: it is applied if it was not, else answered as before.
        """
        found = self._held(stubs)
        count = self._whole_batches(found)
        assert count in (self.batch_count, self.batch_count + bool(self.open))
        for content, memory_id in self.acknowledged.items():
            assert found[content][0] == memory_id
        if self.open is not None:
            self._take(stubs.memory.Remember(self.open, timeout=WAIT_S))
            again = self._held(stubs)
            assert self._whole_batches(again) == self.batch_count
            assert found.items() <= again.items() or count < self.batch_count

    def _request(self, batch: int) -> pb.RememberRequest:
        events = [memory(name, kind=EVENT) for name in self.names(batch)]
        counter = memory(self.value(batch), kind=STATE, key=self.key)
        return remember_request(self.user, *events, counter, id=f"{self.number}-{batch}")

    def _take(self, answer: pb.RememberResponse) -> None:
        assert self.open is not None
        for item, result in zip(self.open.memories, answer.results, strict=True):
            self.acknowledged[item.memory.content] = result.id
        self.batch_count += 1
        self.open = None

    def _held(self, stubs: Stubs) -> dict[str, tuple[str, int]]:
        """Id and status of this writer's memories by content; each content is there once."""
        found: dict[str, tuple[str, int]] = {}
        request = pb.ExportMemoriesRequest(scope=scope(self.user))
        for item in stubs.memory.ExportMemories(request, timeout=WAIT_S):
            held: types_pb2.Memory = item.memory
            if held.content.startswith(f"w{self.number} "):
                assert held.content not in found
                found[held.content] = (held.id, held.status)
        return found

    def _whole_batches(self, found: dict[str, tuple[str, int]]) -> int:
        """How many batches are there; fails unless they are the first ones, each whole."""
        count, rest = divmod(len(found), EVENT_COUNT + 1)
        assert rest == 0
        for batch in range(1, count + 1):
            assert all(found[name][1] == ACTIVE for name in self.names(batch))
            expected = ACTIVE if batch == count else SUPERSEDED
            assert found[self.value(batch)][1] == expected
        return count


class Writers:
    """Several writers at once, inside a `with` block until the server is killed."""

    def __init__(self, writers: list[Writer], target: str) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=writer.run, args=(target, self._stop)) for writer in writers
        ]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Lets each finish its call; one whose server is gone ends by itself."""
        self._stop.set()
        for thread in self._threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
