"""The lock of the data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recalld.storage.errors import DirectoryLocked
from recalld.storage.lock import LOCK_FILE_NAME, DirectoryLock, read_holder

HOLDER = """
import sys, time
from pathlib import Path
from recalld.storage.lock import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]), listen_address="127.0.0.1:7600", now_us=42)
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    """The refusal names the holder, and kill -9 of the holder frees the directory."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        for _ in range(2):  # Being refused must not wipe what the holder wrote.
            with pytest.raises(DirectoryLocked, match=r"127\.0\.0\.1:7600") as refused:
                DirectoryLock(tmp_path, listen_address="", now_us=1)
            assert refused.value.holder["pid"] == child.pid
            assert refused.value.holder["start_time_us"] == 42
        child.kill()
        child.wait()
        with DirectoryLock(tmp_path, listen_address="", now_us=1):
            assert read_holder(tmp_path)["pid"] == os.getpid()


def test_a_second_lock_of_one_process_is_refused(tmp_path: Path) -> None:
    """One process cannot lock a directory twice; after release it can again."""
    lock = DirectoryLock(tmp_path, listen_address="a", now_us=1)
    with pytest.raises(DirectoryLocked):
        DirectoryLock(tmp_path, listen_address="b", now_us=2)
    lock.release()
    lock.release()
    DirectoryLock(tmp_path, listen_address="c", now_us=3).release()


def test_a_short_text_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    """The holder's text is whole JSON, whatever stood in the file before."""
    DirectoryLock(tmp_path, listen_address="x" * 500, now_us=1).release()
    DirectoryLock(tmp_path, listen_address="y", now_us=1).release()
    assert read_holder(tmp_path)["listen_address"] == "y"


@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"\xff"])
def test_an_unreadable_holder_is_unknown(tmp_path: Path, content: bytes | None) -> None:
    """A missing or malformed text gives an empty holder, never an error."""
    if content is not None:
        (tmp_path / LOCK_FILE_NAME).write_bytes(content)
    assert read_holder(tmp_path) == {}
