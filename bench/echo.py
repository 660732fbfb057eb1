"""A bare grpc.aio server that answers every call with the same bytes: the floor of a round trip.

Run as a process of its own, `python -m recalld.bench.echo ANSWER_FILE`; it writes its address to
standard output and serves until it is terminated. It decodes nothing and computes nothing.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

METHOD = "/recalld.bench.Echo/Recall"
STOP_TIMEOUT_S = 10.0


async def serve(answer: bytes) -> None:
    """Serves on a free loopback port until cancelled."""

    async def reply(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return answer

    _, service, method = METHOD.split("/")
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(reply)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {method: handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"127.0.0.1:{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


@contextmanager
def echo_process(answer_file: Path) -> Iterator[str]:
    """The echo server as a process; yields its address."""
    command = [sys.executable, "-m", "recalld.bench.echo", str(answer_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(STOP_TIMEOUT_S)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]).read_bytes()))
