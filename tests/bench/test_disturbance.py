"""Work beside recalls."""

from threading import Event

import grpc

from recalld.bench.disturbance import beside


def test_what_is_turned_away_is_begun_anew():
    """A piece that fails is not counted; the next try is of the same piece."""
    tried: list[int] = []
    enough = Event()

    def work(number: int) -> None:
        tried.append(number)
        if len(tried) == 1:
            raise grpc.RpcError
        if number == 2:
            enough.set()

    with beside(work) as done:
        assert enough.wait(30)
    assert tried[:4] == [0, 0, 1, 2]
    assert done() == len(tried) - 1
