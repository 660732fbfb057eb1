"""The sender of a given rate, against a server that answers one in three."""

from __future__ import annotations

import asyncio

import grpc

from recalld.bench.open_loop import OK, REFUSED, Sender


class Picky(grpc.GenericRpcHandler):
    """Refuses calls but those whose number is a multiple of three."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def answer(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
            if int(body) % 3:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "full")
            return body

        return grpc.unary_unary_rpc_method_handler(answer)


async def test_counts_what_became_of_each() -> None:
    """Every call is sent once and counted by its status, refusals without details apart."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Picky(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        sender = Sender([channel], lambda number: ("/x.Y/Z", b"%d" % number), timeout_s=30.0)
        outcomes = await sender.open_loop(1_000.0, 0.06)
        assert sorted(map(int, outcomes.answers)) == list(range(0, 60, 3))
        assert outcomes.codes == {OK: 20, REFUSED: 40}
        assert outcomes.bare == 40
        assert len(outcomes.times_s[OK]) == 20
        closed = await asyncio.wait_for(sender.closed_loop(2, 0.05), 30)
        assert closed.codes.total() == len(closed.sent_late_s) > 0
    await server.stop(None)
