"""What a server still answers when three times as much is asked of it as it can do.

`python -m recalld.bench.bench_overload [--seconds 5] [--embedder onnx] [--json FILE]` starts a real
server, finds the most calls a second it answers whole (closed loop, the best of several numbers in
flight), and then sends three times as many, whatever comes back (open loop). Goodput counts what
was answered before the deadline of one second; a recall by text that was answered by its words
alone, for want of time to embed it, is good, and told. About two minutes.

The sender is one Python process beside the server: where the two share processors the sender's own
work is missing from the server's, and `sent` says how far it got. Times run from when a call was
due, the sender's own delay included.
"""

import argparse
import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import grpc

from recalld.bench.flood import request as recall_or_write
from recalld.bench.load import percentiles
from recalld.bench.open_loop import OK, REFUSED, Outcomes, sender_to
from recalld.bench.report import Figure, Report, Table, provenance, publish
from recalld.client.testing import running_server
from recalld.v1.recall_service_pb2 import BuildContextRequest, RecallRequest, RecallResponse
from recalld.v1.types_pb2 import MemoryKind, Scope

CONTEXT_METHOD = "/recalld.v1.RecallService/BuildContext"
KINDS = ("filter", "context", "text", "write")
DEADLINE_S = 1.0
IN_FLIGHT = (4, 16, 64)
OVERLOAD = 3.0
TURNED_AWAY = grpc.StatusCode.CANCELLED  # by the runtime, before a handler sees the call
LATE = grpc.StatusCode.DEADLINE_EXCEEDED
WARM_UP_S = 1.0
MEMORIES_TO_FIND = 25  # writes of four memories each, before anything is measured
GOAL = 0.9  # goodput under overload against the peak
GOAL_REFUSED_MS = 50.0

COLUMNS = (
    "call",
    "peak /s",
    "sent /s",
    "good /s",
    "of peak",
    "good p99 ms",
    "by words only",
    "refused /s",
    "refused p50 ms",
    "refused p99 ms",
    "turned away /s",
    "late /s",
    "sender late p99 ms",
)


def request(kind: str, number: int) -> tuple[str, bytes]:
    """Method and body of one call: a recall by key or by a fresh text, a context, or a write."""
    if kind != "context":
        return recall_or_write(kind, number)
    recall = RecallRequest(scope=Scope(user_id="flood"))
    recall.filter.must.add().kind.values.append(MemoryKind.MEMORY_KIND_FACT)
    return CONTEXT_METHOD, BuildContextRequest(recall=recall).SerializeToString()


async def measure(address: str, kind: str, seconds: float) -> tuple[float, Outcomes]:
    """The peak of one kind of call, and what becomes of three times as many."""
    async with sender_to(address, partial(request, kind), DEADLINE_S) as sender:
        await sender.closed_loop(IN_FLIGHT[1], WARM_UP_S)
        runs = [await sender.closed_loop(many, seconds) for many in IN_FLIGHT]
        # Whole answers only: words are given in place of the model's answer at no cost.
        peak = max(run.good_per_s * (1 - degraded_share(run, kind)) for run in runs)
        return peak, await sender.open_loop(OVERLOAD * peak, seconds)


async def fill(address: str) -> None:
    """Some memories to find."""
    async with grpc.aio.insecure_channel(address) as channel:
        for number in range(MEMORIES_TO_FIND):
            method, body = request("write", number)
            stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
            await stub(body, timeout=60.0)


def run(kinds: Sequence[str], embedder: str, seconds: float) -> Report:
    """Each kind of call against a server of its own."""
    figures: dict[str, Figure] = {**provenance()}
    rows = []
    for kind in kinds:
        with running_server(embedder=embedder) as server:
            asyncio.run(fill(server.target))
            peak, outcomes = asyncio.run(measure(server.target, kind, seconds))
        rows.append([kind, *_cells(peak, outcomes, kind)])
        figures |= _figures(kind, peak, outcomes)
    title = f"Calls a second at {OVERLOAD:g} times the peak, deadline {DEADLINE_S:g} s"
    note = (
        f"goals: good >= {GOAL:.0%} of the peak; refusals within {GOAL_REFUSED_MS:g} ms, "
        "the sender's own delay included"
    )
    return Report(figures, [Table(title, COLUMNS, rows)], [note])


def degraded_share(outcomes: Outcomes, kind: str) -> float:
    """Share of answers for which there was no time to embed the request."""
    if kind != "text" or not outcomes.answers:
        return 0.0
    answers = [RecallResponse.FromString(body) for body in outcomes.answers]
    return sum(bool(answer.degraded) for answer in answers) / len(answers)


def _cells(peak: float, outcomes: Outcomes, kind: str) -> list[str]:
    """Figures of one row."""
    refused_p50_ms, refused_p99_ms = outcomes.percentiles_ms(REFUSED)
    per_s = {code: count / outcomes.elapsed_s for code, count in outcomes.codes.items()}
    sent_late_ms = 1e3 * percentiles(outcomes.sent_late_s).p99_s
    return [
        f"{peak:.0f}",
        f"{outcomes.sent_per_s:.0f}",
        f"{outcomes.good_per_s:.0f}",
        f"{outcomes.good_per_s / peak:.0%}",
        f"{outcomes.percentiles_ms(OK)[1]:.0f}",
        f"{degraded_share(outcomes, kind):.0%}",
        f"{per_s.get(REFUSED, 0.0):.0f}",
        f"{refused_p50_ms:.1f}",
        f"{refused_p99_ms:.1f}",
        f"{per_s.get(TURNED_AWAY, 0.0):.0f}",
        f"{per_s.get(LATE, 0.0):.0f}",
        f"{sent_late_ms:.0f}",
    ]


def _figures(kind: str, peak: float, outcomes: Outcomes) -> dict[str, Figure]:
    """The same by name; `bare` are refusals of the runtime, without details."""
    return {
        f"{kind}_peak_per_s": peak,
        f"{kind}_sent_per_s": outcomes.sent_per_s,
        f"{kind}_good_per_s": outcomes.good_per_s,
        f"{kind}_good_of_peak": outcomes.good_per_s / peak,
        f"{kind}_refused_per_s": outcomes.codes[REFUSED] / outcomes.elapsed_s,
        f"{kind}_refused_p99_ms": outcomes.percentiles_ms(REFUSED)[1],
        f"{kind}_bare": outcomes.bare,
        f"{kind}_turned_away_per_s": outcomes.codes[TURNED_AWAY] / outcomes.elapsed_s,
        f"{kind}_late_per_s": outcomes.codes[LATE] / outcomes.elapsed_s,
        f"{kind}_degraded_share": degraded_share(outcomes, kind),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each run")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--embedder", default="onnx", choices=("onnx", "hash"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    publish(run(arguments.kinds, arguments.embedder, arguments.seconds), arguments.json)


if __name__ == "__main__":
    main()
