"""A flood: one tenant's calls, many in flight, as fast as they are answered, from its own process.

Run as `python -m recalld.bench.flood ADDRESS KIND`, the token on standard input; it writes a line
when the flood is on and goes on until it is terminated. What the server refuses is sent again at
once.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import grpc

from recalld.bench.load import RECALL_METHOD
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import Memory, Scope

REMEMBER_METHOD = "/recalld.v1.MemoryService/Remember"
KINDS = ("filter", "text", "write", "batch")
IN_FLIGHT = 32
BATCHES = {"write": 4, "batch": 64}  # memories of one write
WARM_UP_CALLS = IN_FLIGHT
CALL_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0


def request(kind: str, number: int) -> tuple[str, bytes]:
    """Method and body of one call; no two texts are alike, so that each is embedded."""
    scope = Scope(user_id="flood")
    if kind in BATCHES:
        memories = [
            MemoryInput(memory=Memory(content=f"Note {number}.{i}: shelf {i} holds {number}"))
            for i in range(BATCHES[kind])
        ]
        body = RememberRequest(scope=scope, memories=memories)
        return REMEMBER_METHOD, body.SerializeToString()
    text = f"Where did I put item {number}?" if kind == "text" else ""
    recall = RecallRequest(scope=scope, k=5)
    if text:
        recall.text = text
    else:
        recall.filter.must.add().key.values.append(f"slot.{number % 500}")
    return RECALL_METHOD, recall.SerializeToString()


async def flood(address: str, kind: str, token: str) -> None:
    """Calls until cancelled."""
    metadata = (("authorization", f"Bearer {token}"),)
    done = 0
    async with grpc.aio.insecure_channel(address) as channel:
        stubs: dict[str, grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]] = {
            name: channel.unary_unary(name) for name in (RECALL_METHOD, REMEMBER_METHOD)
        }

        async def caller(number: int) -> None:
            nonlocal done
            while True:
                method, body = request(kind, number)
                with suppress(grpc.aio.AioRpcError):
                    await stubs[method](body, timeout=CALL_TIMEOUT_S, metadata=metadata)
                number += IN_FLIGHT
                done += 1
                if done == WARM_UP_CALLS:
                    sys.stdout.write("on\n")
                    sys.stdout.flush()

        await asyncio.gather(*(caller(i) for i in range(IN_FLIGHT)))


@contextmanager
def flood_process(address: str, kind: str, token: str) -> Iterator[None]:
    """The flood as a process; it is on inside the context."""
    command = [sys.executable, "-m", "recalld.bench.flood", address, kind]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(f"{token}\n")
            process.stdin.flush()
            process.stdout.readline()
            yield
        finally:
            process.kill()
            process.wait(STOP_TIMEOUT_S)


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1], sys.argv[2], sys.stdin.readline().strip()))
