"""The wrapped hnswlib graph."""

import threading

import numpy as np

from recalld.index.shard import HnswShard, ReadWriteLock
from tests.conformance.index_contract import DIM, IndexContract, unit_vectors


class TestHnswShard(IndexContract):
    """The contract, with a little missed."""

    recall_min = 0.99

    def make(self) -> HnswShard:
        return HnswShard(DIM)


def test_growing_while_others_search_is_safe():
    """Searches beside additions that outgrow the capacity neither fail nor see half a write."""
    shard = HnswShard(DIM, ef=32)
    vectors = unit_vectors(3000)
    shard.add(np.arange(1, 501), vectors[:500])
    failures: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                labels, _ = shard.search(vectors[3], 10)
                assert len(labels) == 10
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(500, 3000, 250):
        shard.add(np.arange(start + 1, start + 251), vectors[start : start + 250])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(shard) == 3000


def test_a_writer_waits_for_readers_and_holds_back_new_ones():
    """The lock lets readers share, and a waiting writer goes before later readers."""
    lock = ReadWriteLock()
    order: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with lock.reading():
            inside.set()
            leave.wait(5)
            order.append("first reader")

    def write() -> None:
        with lock.writing():
            order.append("writer")

    def second() -> None:
        with lock.reading():
            order.append("second reader")

    threads = [threading.Thread(target=first)]
    threads[0].start()
    inside.wait(5)
    threads.append(threading.Thread(target=write))
    threads[1].start()
    while not lock._writers_waiting:
        threading.Event().wait(0.001)
    threads.append(threading.Thread(target=second))
    threads[2].start()
    leave.set()
    for thread in threads:
        thread.join()
    assert order == ["first reader", "writer", "second reader"]
