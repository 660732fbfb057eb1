"""Whether a server's memory stays what it is over many operations.

`python -m recalld.bench.bench_soak [--operations 1000000] [--embedder hash] [--json FILE]` starts
a real server and sends a mix of everything that a long life brings: recalls by fresh texts and by
key, contexts, memories said again, unknown users and ids, and bad requests of many kinds, each
under its own ids. The users and their keys are always the same, so what is held does not grow; what
grows is a leak. Resident memory is read from the system after the warm-up (a tenth) and at every
further tenth.

50,000 operations take some minutes on two cores, a million an hour or two.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence

import grpc
import numpy as np

from recalld.bench.load import CALL_TIMEOUT_S
from recalld.bench.processor import resident_bytes
from recalld.bench.report import Figure, Report, Table, command, progress, provenance
from recalld.client.testing import running_server
from recalld.v1.memory_service_pb2 import ForgetRequest, MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import BuildContextRequest, RecallRequest
from recalld.v1.types_pb2 import Memory, Scope

OPERATIONS = 1_000_000
IN_FLIGHT = 8
USERS, KEYS = 50, 20
TENTHS = 10
GOAL_DRIFT = 0.05  # resident memory at the end against that after the warm-up
MEMORY_SERVICE, RECALL_SERVICE = "/recalld.v1.MemoryService", "/recalld.v1.RecallService"


def operation(number: int) -> tuple[str, bytes]:
    """Method and body of the n-th operation; texts, ids and wrong names never repeat."""
    scope = Scope(user_id=f"user-{number % USERS}")
    recall = RecallRequest(scope=scope, k=5)
    match number % 10:
        case 0 | 1:
            slot = f"slot.{number // USERS % KEYS}"
            # Said again, not replaced: what was replaced is kept, and would not be a leak.
            memory = Memory(key=slot, content=f"What {slot} of {scope.user_id} holds")
            write = RememberRequest(scope=scope, memories=[MemoryInput(memory=memory)])
            write.request_id = f"soak-{number}" if number % 100 == 0 else ""
            return f"{MEMORY_SERVICE}/Remember", write.SerializeToString()
        case 2:
            forget = ForgetRequest(scope=scope)
            forget.ids.ids.append(f"unknown-{number}")
            return f"{MEMORY_SERVICE}/Forget", forget.SerializeToString()
        case 3:
            recall.text = f"What about the wrong channel {number}?"
            recall.filter.must.add().key_prefix = f"{number}\0"
        case 4:
            return f"{RECALL_SERVICE}/Recall", b"\xff" * (number % 50 + 1)
        case 5:
            recall.text = f"What does shelf {number} hold?"
            return f"{RECALL_SERVICE}/BuildContext", BuildContextRequest(
                recall=recall
            ).SerializeToString()
        case 6:
            recall.scope.user_id = f"nobody-{number}"
            recall.text = "anything"
        case 7 | 8:
            recall.text = f"Which shelf holds number {number}?"
        case _:
            recall.filter.must.add().key.values.append(f"slot.{number % KEYS}")
    return f"{RECALL_SERVICE}/Recall", recall.SerializeToString()


async def send(address: str, numbers: range, codes: Counter[str]) -> None:
    """Some operations, several in flight."""
    left = iter(numbers)
    async with grpc.aio.insecure_channel(address) as channel:

        async def caller() -> None:
            for number in left:
                method, body = operation(number)
                stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
                metadata = (("x-request-id", f"call-{number}"),)
                try:
                    await stub(body, timeout=CALL_TIMEOUT_S, metadata=metadata)
                    codes["OK"] += 1
                except grpc.aio.AioRpcError as error:
                    codes[error.code().name] += 1

        await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))


def drift(resident: Sequence[float]) -> float:
    """Rise of a straight line through the readings, over their span, against the first one's level.

    Raises:
        ValueError: there are fewer than two readings.
    """
    if len(resident) < 2:
        raise ValueError("a drift needs two readings")
    slope, level = np.polyfit(np.arange(len(resident)), resident, 1)
    return float(slope * (len(resident) - 1) / level)


def run(operations: int, embedder: str) -> Report:
    """The whole life of one server."""
    codes: Counter[str] = Counter()
    resident = []
    with (
        running_server(embedder=embedder) as server,
        progress("operations", operations) as step,
    ):
        for tenth in range(TENTHS):
            numbers = range(operations * tenth // TENTHS, operations * (tenth + 1) // TENTHS)
            asyncio.run(send(server.target, numbers, codes))
            resident.append(resident_bytes(server.process.pid) / 1e6)
            step(len(numbers))
    figures: dict[str, Figure] = {
        **provenance(),
        "operations": operations,
        "first_mb": resident[0],
        "last_mb": resident[-1],
        "drift": drift(resident),
    }
    figures |= {f"code_{name.lower()}": count for name, count in codes.items()}
    rows = [[f"{tenth + 1}/{TENTHS}", f"{mb:.1f}"] for tenth, mb in enumerate(resident)]
    notes = [
        f"drift {drift(resident):+.1%} of {resident[0]:.0f} MB; goal: <= {GOAL_DRIFT:.0%}",
        ", ".join(f"{name} {count}" for name, count in codes.most_common()),
    ]
    return Report(figures, [Table("Resident memory", ["operations", "MB"], rows)], notes)


def main() -> None:
    """Command line."""
    operations = {"type": int, "default": OPERATIONS}
    embedder = {"default": "hash", "choices": ("onnx", "hash")}

    def asked(given: argparse.Namespace) -> Report:
        return run(given.operations, given.embedder)

    command(__doc__, asked, ("--operations", operations), ("--embedder", embedder))


if __name__ == "__main__":
    main()
