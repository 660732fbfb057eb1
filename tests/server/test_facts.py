"""GetServerInfo and GetStats."""

from __future__ import annotations

from recalld.server import limits
from recalld.server.services import CAPABILITIES, SERVICES
from recalld.v1 import admin_service_pb2 as pb
from tests.server.core import Core, memory, scope


async def test_info(core: Core) -> None:
    """A client learns which calls work, the limits in force and the model."""
    info = await core.ask("GetServerInfo", pb.GetServerInfoRequest())
    offered = {f"{service.name}/{name}" for service, names in SERVICES for name in names}
    assert {*info.capabilities} == offered == {*CAPABILITIES}
    values = {limit.name: limit.value for limit in info.limits}
    assert (values["k_max"], values["content_bytes_max"], values["batch_count_max"]) == (
        200,
        8192,
        256,
    )
    assert values == limits.table()
    assert info.embedder.fingerprint == core.embedder.fingerprint
    assert info.embedder.dimension == core.embedder.dim
    assert {*info.tokenizers} == {"conservative", "embedder"}
    assert not info.test_clock


async def test_stats(core: Core) -> None:
    """Counts are by status, of current ones by kind, of one user or of the tenant."""
    await core.remember("u", memory("old", key="k"), memory("new", key="k"), memory("x", kind=4))
    await core.remember("v", memory("y", kind=2))
    await core.forget("u", all=True)
    await core.remember("u", memory("z", kind=4))
    own = await core.ask("GetStats", pb.GetStatsRequest(scope=scope("u")))
    assert (own.memory_count, own.user_count, own.revision) == (4, 1, 4)
    assert {item.status: item.count for item in own.statuses} == {1: 1, 6: 3}
    assert {item.kind: item.count for item in own.kinds} == {4: 1}
    whole = await core.ask("GetStats", pb.GetStatsRequest())
    assert (whole.memory_count, whole.user_count) == (5, 2)
    assert {item.kind: item.count for item in whole.kinds} == {2: 1, 4: 1}
    assert whole.rss_bytes > 1_000_000
    nobody = await core.ask("GetStats", pb.GetStatsRequest(scope=scope("w")))
    assert (nobody.memory_count, nobody.user_count, nobody.revision) == (0, 0, 4)
