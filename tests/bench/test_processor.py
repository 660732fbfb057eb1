"""What another process has used."""

import os
import subprocess
import sys

import pytest

from recalld.bench.processor import resident_bytes, spent_s


def test_a_busy_process_has_spent_what_it_says():
    """The clock of another process stands where that process reads it itself, or later."""
    program = (
        "import time\n"
        "while time.process_time() < 0.05: pass\n"
        "print(time.process_time(), flush=True)\ninput()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe) as process:
        said_s = float(process.stdout.readline())
        assert said_s <= spent_s(process.pid) < said_s + 1.0
        process.communicate(b"\n")


def test_what_is_held_is_resident():
    """Fifty megabytes that were written count, until they are given back."""
    before = resident_bytes(os.getpid())
    held = bytearray(os.urandom(1) * 50_000_000)
    assert resident_bytes(os.getpid()) - before > 45_000_000
    del held


def test_there_is_no_such_process():
    """A process that does not exist is an error, not nothing."""
    with pytest.raises(OSError):
        resident_bytes(2**22 + 1)
