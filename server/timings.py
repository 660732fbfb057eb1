"""Time spent by a recall, as it goes out."""

from __future__ import annotations

from recalld.server.call import Call
from recalld.v1 import recall_service_pb2 as pb


def spend(timings: pb.Timings, call: Call, started_s: float, embedded_s: float) -> None:
    """Fill in the time spent."""
    ended_s = call.clock.monotonic_s()
    for target, elapsed_s in (
        (timings.total, ended_s - started_s),
        (timings.embed, embedded_s - started_s),
        (timings.search, ended_s - embedded_s),
    ):
        seconds, nanos = divmod(int(elapsed_s * 1e9), 1_000_000_000)
        target.nanos = nanos
        if seconds:
            target.seconds = seconds
