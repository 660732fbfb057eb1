"""What DuckDB keeps in memory after reads: bounded, at nobody's cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import pytest

from recalld.storage import block_cache, duckdb_file
from recalld.storage.block_cache import BlockCache
from recalld.storage.duckdb_file import DuckDBFile
from recalld.storage.errors import Corrupt, StoreBusy

MIB = 1024 * 1024
LIMIT_BYTES = 64 * MIB
CONNECT = partial(duckdb_file.connect, memory_limit_bytes=LIMIT_BYTES)
ROW_COUNT = 6_000
DENSE = np.arange(1, ROW_COUNT + 1)
ALL_ROWS = "SELECT n, data FROM t"
LIMIT = "SELECT current_setting('memory_limit')"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBFile]:
    """An open file with 6 MB of what cannot be compressed."""
    path = tmp_path_factory.mktemp("blocks") / "t.duckdb"
    opened = DuckDBFile(path, CONNECT(path), CONNECT)
    opened.execute("CREATE TABLE t (n BIGINT PRIMARY KEY, data BLOB)")
    noise = " || ".join(f"unhex(sha256((i * 32 + {part})::VARCHAR))" for part in range(32))
    opened.execute(f"INSERT INTO t SELECT i, {noise} FROM range({ROW_COUNT}) s(i)")
    opened.execute("FORCE CHECKPOINT")
    yield opened
    opened.close()


@pytest.fixture
def waiting() -> list[Callable[[], Any]]:
    """Work of the writer's thread that was not done yet."""
    return []


@pytest.fixture
def blocks(
    file: DuckDBFile, waiting: list[Callable[[], Any]], monkeypatch: pytest.MonkeyPatch
) -> BlockCache:
    """A cache with a bound that a read of all rows exceeds."""
    monkeypatch.setattr(block_cache, "KEPT_BYTES", 2 * MIB)
    monkeypatch.setattr(block_cache, "HELD_BYTES_MAX", 4 * MIB)

    def run(job: Callable[[], Any]) -> Future[Any]:
        waiting.append(job)
        return Future()

    return BlockCache(file, run, LIMIT_BYTES)


def test_what_was_read_is_let_go_above_the_bound(
    file: DuckDBFile, blocks: BlockCache, waiting: list[Callable[[], Any]]
) -> None:
    """Reads beyond the bound are let go once, behind the writes; rows and limit stay."""
    before, limit = file.rows(ALL_ROWS), file.rows(LIMIT)
    assert blocks.held_bytes > 4 * MIB
    blocks.settle(DENSE)
    blocks.settle(DENSE)
    (job,) = waiting
    job()
    assert blocks.held_bytes <= 2 * MIB
    assert file.rows(LIMIT) == limit
    blocks.settle(DENSE)
    assert waiting == [job]
    assert file.rows(ALL_ROWS) == before


def test_a_reader_is_not_disturbed(
    file: DuckDBFile, blocks: BlockCache, waiting: list[Callable[[], Any]]
) -> None:
    """While somebody reads nothing is let go and nobody waits; the next read brings it up again."""
    file.rows(ALL_ROWS)
    with file.readers.reading(lambda: None):
        blocks.settle(DENSE)
        waiting.pop()()
        assert blocks.held_bytes > 4 * MIB
    blocks.settle(DENSE)
    waiting.pop()()
    assert blocks.held_bytes <= 2 * MIB


def test_blocks_of_scattered_rows_stay(
    file: DuckDBFile, blocks: BlockCache, waiting: list[Callable[[], Any]]
) -> None:
    """What was read for single rows among many others, or for none, is kept for the next read."""
    file.rows(ALL_ROWS)
    for labels in (DENSE * 9, DENSE[:0]):
        blocks.settle(labels)
    assert waiting == []
    assert blocks.held_bytes > 4 * MIB


def test_what_is_in_use_stays(
    file: DuckDBFile,
    blocks: BlockCache,
    waiting: list[Callable[[], Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where not enough can be let go the limit is as it was, and writing goes on."""
    monkeypatch.setattr(block_cache, "KEPT_BYTES", 1)
    limit = file.rows(LIMIT)
    file.rows(ALL_ROWS)
    blocks.settle(DENSE)
    waiting.pop()()
    assert file.rows(LIMIT) == limit
    file.execute("INSERT INTO t VALUES (-1, NULL)")
    file.execute("DELETE FROM t WHERE n = -1")


def test_a_writer_that_refuses_is_asked_again(file: DuckDBFile, blocks: BlockCache) -> None:
    """Refused work is no error of the read, and is asked for again."""
    asked = []

    def refuse(job: Callable[[], Any]) -> Future[Any]:
        asked.append(job)
        raise StoreBusy("full")

    refusing = BlockCache(file, refuse, LIMIT_BYTES)
    file.rows(ALL_ROWS)
    refusing.settle(DENSE)
    refusing.settle(DENSE)
    assert len(asked) == 2


@pytest.mark.parametrize(
    "sql", ["DELETE FROM t", "SET memory_limit = '1GB'", "SELECT 1; DELETE FROM t", ""]
)
def test_a_read_only_selects(file: DuckDBFile, sql: str) -> None:
    """A read that is not one SELECT is refused, and changes nothing."""
    before = file.rows("SELECT count(*) FROM t"), file.rows(LIMIT)
    with pytest.raises(Corrupt):
        file.rows(sql)
    assert (file.rows("SELECT count(*) FROM t"), file.rows(LIMIT)) == before
