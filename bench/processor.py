"""Processor time of another process: what its calls cost on a busy machine, too. Linux only."""

import time

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
