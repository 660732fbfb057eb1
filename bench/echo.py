"""A bare grpc.aio server that answers every call with the same bytes: the floor of a round trip.

Run as a process of its own, `python -m recalld.bench.echo ANSWER_FILE [ADDRESS]`; it writes its
address to standard output and serves until it is terminated. It decodes nothing and computes
nothing.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

METHOD = "/recalld.bench.Echo/Recall"
ANY_PORT = "127.0.0.1:0"
STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Echo:
    """A running echo server."""

    address: str
    process_id: int


async def serve(answer: bytes, address: str) -> None:
    """Serves until cancelled."""

    async def reply(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return answer

    _, service, method = METHOD.split("/")
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(reply)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {method: handler}),)
    )
    port = server.add_insecure_port(address)
    await server.start()
    sys.stdout.write(f"127.0.0.1:{port}\n" if address == ANY_PORT else f"{address}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


@contextmanager
def echo_process(answer_file: Path, address: str = ANY_PORT) -> Iterator[Echo]:
    """The echo server as a process, on a free loopback port or where it is told."""
    command = [sys.executable, "-m", "recalld.bench.echo", str(answer_file), address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Echo(process.stdout.readline().strip(), process.pid)
        finally:
            process.terminate()
            process.wait(STOP_TIMEOUT_S)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]).read_bytes(), (*sys.argv[2:], ANY_PORT)[0]))
