"""The DuckDB store keeps the contract, and refuses, repairs and fails as its modules say."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from recalld.storage import migrate, renewals, rows
from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.errors import Corrupt, FormatTooNew, StoreFailed
from recalld.storage.fsio import Files
from recalld.storage.lock import DirectoryLock
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.storage.purges import PURGE_COLUMNS
from recalld.storage.sealed_value import SealedValue
from recalld.storage.store import WriteBatch
from tests.conformance.partition_contract import PartitionContract
from tests.conformance.purge_contract import PurgeContract
from tests.conformance.renewal_contract import RenewalContract
from tests.conformance.store_contract import Reopen, StoreContract
from tests.conformance.trace_contract import TraceContract
from tests.storage.samples import any_memory, memory, request, state


def open_store(data_dir: Path, **options: object) -> DuckDBStore:
    return DuckDBStore(data_dir, DuckDBOptions(now_us=1, created_by="test", **options))  # type: ignore[arg-type]


def crash_copy(store_dir: Path, target: Path) -> Path:
    """The directory as kill -9 would leave it: copied while the store is open and idle."""
    shutil.copytree(store_dir, target)
    return target


def wal_of(data_dir: Path) -> Path:
    return data_dir / f"{DATABASE_NAME}.wal"


class TestDuckDBStore(
    StoreContract, PartitionContract, TraceContract, PurgeContract, RenewalContract
):
    """The contract, on DuckDB."""

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Reopen]:
        opened: list[DuckDBStore] = []

        def open_again() -> DuckDBStore:
            for store in opened:
                store.close()
            opened.append(open_store(tmp_path / "data"))
            return opened[-1]

        yield open_again
        for store in opened:
            store.close()


class AgainstOracle(RuleBasedStateMachine):
    """Both stores take the same steps; DuckDB also closes, crashes and reopens."""

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.data_dir, self.crash_count = self.root / "0", 0
        self.store, self.oracle = open_store(self.data_dir), MemoryStore(MemoryImage())
        self.revision = {"acme": 0, "zeta": 0}

    @rule(data=st.data(), tenant=st.sampled_from(["acme", "zeta"]))
    def write(self, data: st.DataObject, tenant: str) -> None:
        self.revision[tenant] += 1
        # Each tenant owns half of the labels: a row never changes its tenant.
        labels = st.lists(st.integers(1, 6), max_size=4)
        drawn = [2 * label + (tenant == "acme") for label in data.draw(labels)]
        rows = [data.draw(any_memory(label, self.revision[tenant], tenant)) for label in drawn]
        name, time_us = data.draw(st.sampled_from("abc")), data.draw(st.integers(0, 9))
        asked = data.draw(st.none() | st.just(request(name, tenant=tenant, create_time_us=time_us)))
        batch = WriteBatch(tenant, self.revision[tenant], tuple(rows), asked)
        self.store.write(batch)
        self.oracle.write(batch)

    @rule(before_us=st.integers(0, 9))
    def prune(self, before_us: int) -> None:
        assert self.store.prune_requests(before_us) == self.oracle.prune_requests(before_us)

    @rule()
    def checkpoint(self) -> None:
        self.store.checkpoint()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.data_dir)

    @rule()
    def crash(self) -> None:
        self.crash_count += 1
        copied = crash_copy(self.data_dir, self.root / str(self.crash_count))
        self.store.close()
        self.data_dir, self.store = copied, open_store(copied)

    @invariant()
    def same(self) -> None:
        assert state(self.store) == state(self.oracle)
        for tenant in ("acme", "zeta"):
            for name in "abc":
                found = self.store.find_request(tenant, name)
                assert found == self.oracle.find_request(tenant, name)
        assert self.store.allocate_labels(0).start == self.oracle.allocate_labels(0).start

    def teardown(self) -> None:
        assert self.store.check() == self.oracle.check() == []
        self.store.close()
        shutil.rmtree(self.root)


class TestAgainstOracle(AgainstOracle.TestCase):
    """Any sequence of writes, prunings, restarts and crashes leaves DuckDB equal to the oracle."""

    settings = settings(
        max_examples=12,
        stateful_step_count=10,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def test_the_columns_are_those_of_the_schema(tmp_path: Path) -> None:
    """Names, types and order of the columns in code equal those of schema.sql."""
    open_store(tmp_path).close()
    with duckdb.connect(str(tmp_path / DATABASE_NAME), read_only=True) as connection:
        for table, columns in (
            ("memories", rows.COLUMNS),
            ("requests", rows.REQUEST_COLUMNS),
            ("tenants", rows.TENANT_COLUMNS),
            ("sealed", rows.SEALED_COLUMNS),
            ("renewals", renewals.COLUMNS),
            ("purges", PURGE_COLUMNS),
        ):
            described = connection.execute(f"DESCRIBE {table}").fetchall()
            assert [(row[0], row[1]) for row in described] == list(columns)
        meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    assert len(bytes.fromhex(meta.pop("tombstone_key"))) == 32
    assert meta == {
        "created_by": "test",
        "created_time_us": "1",
        "created_with_duckdb": duckdb.__version__,
        "format_version": "8",
    }


def test_sealed_values_go_with_their_row(tmp_path: Path) -> None:
    """A sealed value whose row is gone is named by check, and removed by sealed.prune."""
    store = open_store(tmp_path)
    values = tuple(SealedValue(label, "[phone:a]", b"x") for label in (1, 2))
    store.write(WriteBatch("acme", 1, (memory(1, 1), memory(2, 1)), sealed=values))
    store.close()
    with duckdb.connect(str(tmp_path / DATABASE_NAME)) as connection:
        connection.execute("DELETE FROM memories WHERE label = 1")
    store = open_store(tmp_path)
    assert store.check() == ["sealed values without a memory, a placeholder or data: 1"]
    assert store.sealed.prune() == 1
    assert (store.sealed.find(1), store.sealed.find(2)) == ({}, {"[phone:a]": b"x"})
    assert store.check() == []
    store.close()


def test_a_closed_store_leaves_one_file(tmp_path: Path) -> None:
    """After close the directory holds the database and no log; the program reports a new one."""
    store = open_store(tmp_path)
    assert store.recovery.created
    store.write(WriteBatch("acme", 1, (memory(1, 1),)))
    assert store.stats().wal_bytes > 0
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE_NAME]


def test_sql_cannot_leave_the_database(tmp_path: Path) -> None:
    """The connection refuses other files, extensions and changed settings."""
    store = open_store(tmp_path)
    for sql in (
        f"ATTACH '{tmp_path / 'other.duckdb'}'",
        "COPY tenants TO '/tmp/x.csv'",
        "SELECT * FROM read_csv('/etc/hostname')",
        "INSTALL httpfs",
        "SET memory_limit = '1GB'",
    ):
        with pytest.raises(Corrupt):
            store._file.rows(sql)
    store.close()


def test_answers_dropped_from_memory_are_found_on_disk(tmp_path: Path) -> None:
    """With room for two answers in memory all five are found, before and after reopening."""
    store = open_store(tmp_path, request_count_max=2)
    answers = [request(f"r{number}", create_time_us=number) for number in range(5)]
    for answer in answers:
        store.write(WriteBatch("acme", 1, request=answer))
    assert [store.find_request("acme", a.request_id) for a in answers] == answers
    store.close()
    for limit in ({"request_count_max": 2}, {"request_bytes_max": 1_200}):
        store = open_store(tmp_path, **limit)
        assert store._recent.find("acme", "r4") == answers[4]
        assert store._recent.find("acme", "r0") is None
        assert [store.find_request("acme", a.request_id) for a in answers] == answers
        store.close()


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """A database of a newer format is refused with both versions, and opens again unchanged."""
    open_store(tmp_path).close()
    newer = migrate.FORMAT_VERSION + 1
    sql = "UPDATE meta SET value = ? WHERE key = 'format_version'"
    for version in (newer, migrate.FORMAT_VERSION):
        with duckdb.connect(str(tmp_path / DATABASE_NAME)) as connection:
            connection.execute(sql, [str(version)])
        if version == newer:
            with pytest.raises(FormatTooNew) as refused:
                open_store(tmp_path)
            assert (refused.value.found, refused.value.supported) == (newer, newer - 1)
            assert str(newer) in str(refused.value)
    open_store(tmp_path).close()


def test_a_failed_sync_ends_all_writing(tmp_path: Path) -> None:
    """After a failed sync the batch and all later ones fail, until the store is reopened."""

    class Broken(Files):
        broken = False

        def sync_directory(self, path: Path) -> None:
            if self.broken:
                raise OSError("disk gone")
            super().sync_directory(path)

    files = Broken()
    store = open_store(tmp_path, files=files)
    files.broken = True
    # The first write makes a new log, whose name must be synced.
    with pytest.raises(StoreFailed, match="disk gone"):
        store.write(WriteBatch("acme", 1, (memory(1, 1),)))
    files.broken = False
    with pytest.raises(StoreFailed):
        store.submit(WriteBatch("acme", 2))
    with pytest.raises(StoreFailed):
        store.checkpoint()
    assert store.find_request("acme", "r") is None
    store.close()
    store = open_store(tmp_path)
    store.write(WriteBatch("acme", 2, (memory(2, 2),)))
    assert store.check() == []
    store.close()


def test_a_second_opening_is_refused(tmp_path: Path) -> None:
    """A database open in another process is refused, and the holder named."""
    store = open_store(tmp_path)
    lock = DirectoryLock(tmp_path, listen_address="127.0.0.1:7600", now_us=5)
    script = (
        "import sys; from pathlib import Path\n"
        "from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore\n"
        "from recalld.storage.errors import DirectoryLocked\n"
        "try: DuckDBStore(Path(sys.argv[1]), DuckDBOptions(1, 'test'))\n"
        "except DirectoryLocked as error: print(error.holder['listen_address'])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "127.0.0.1:7600\n"
    lock.release()
    store.close()
