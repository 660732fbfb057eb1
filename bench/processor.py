"""Processor time of another process, however busy the machine is, and its memory. Linux only."""

import os
import time
from pathlib import Path

CPUCLOCK_SCHED = 2  # what the scheduler counts, user and system, in nanoseconds


def spent_s(process_id: int) -> float:
    """Seconds that all threads of a process have run.

    Args:
        process_id: of a process on this machine.

    Raises:
        OSError: there is no such process.

    Source: glibc, sysdeps/unix/sysv/linux/clock_getcpuclockid.c.
    """
    return time.clock_gettime((~process_id << 3) | CPUCLOCK_SCHED)


def resident_bytes(process_id: int) -> int:
    """Memory of a process that is not swapped out, shared libraries included.

    Raises:
        OSError: there is no such process.
    """
    pages = Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
