"""The wrapped hnswlib graph."""

import threading

import numpy as np
import pytest

from recalld.index.errors import BadLabel, IndexDamaged
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
        shard.remove([start - 249])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(shard) == 2990


def test_the_deleted_share_counts_marks():
    """Removing a quarter shows a share of one quarter; a removed label may not return."""
    shard = HnswShard(DIM)
    vectors = unit_vectors(40)
    assert shard.deleted_share == 0
    shard.add(np.arange(1, 41), vectors)
    shard.remove(range(1, 11))
    assert shard.deleted_share == 0.25
    with pytest.raises(BadLabel):
        shard.add([1], vectors[:1])


def test_a_graph_of_another_width_is_refused(tmp_path):
    """A file saved with another dimension raises before hnswlib reads by it."""
    other = HnswShard(DIM + 8)
    other.save(tmp_path / "graph")
    with pytest.raises(IndexDamaged, match=str(DIM)):
        HnswShard(DIM).load(tmp_path / "graph")


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
