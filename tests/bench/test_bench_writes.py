"""Durable writes over gRPC."""

from recalld.bench.bench_writes import BATCH, batches, singles
from recalld.bench.corpus import serving
from recalld.bench.open_loop import OK
from recalld.bench.target import connect
from recalld.v1.admin_service_pb2 import GetStatsRequest


async def test_what_is_counted_is_stored():
    """Every acknowledged memory is one of the server's, and none is counted twice."""
    with serving() as server, connect(server.target) as target:
        alone, sync = singles(server, 1)
        assert alone.count == sync.count == 10
        before = target.admin.GetStats(GetStatsRequest()).memory_count
        outcomes = await batches(server.target, 2, 0.3)
        assert outcomes.codes.total() == outcomes.codes[OK] > 0
        after = target.admin.GetStats(GetStatsRequest()).memory_count
        assert after - before == BATCH * outcomes.codes[OK]
