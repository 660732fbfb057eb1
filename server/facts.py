"""GetServerInfo and GetStats: what a client may send, and what is here."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.duration_pb2 import Duration

from recalld.index.batching import BatchingEmbedder
from recalld.server import codec, limits, times, tokens
from recalld.server.call import Call
from recalld.server.partition import CURRENT
from recalld.server.partitions import Partitions
from recalld.server.reembedding import Progress
from recalld.server.version import API_REVISION, VERSION
from recalld.server.writer import Writer
from recalld.storage.store import Store
from recalld.v1 import admin_service_pb2 as pb


@dataclass(frozen=True)
class Facts:
    """Handlers of GetServerInfo and GetStats."""

    partitions: Partitions
    writer: Writer
    store: Store
    embedder: BatchingEmbedder
    progress: Progress
    embedder_name: str
    capabilities: tuple[str, ...]
    test_clock: bool
    start_time_us: int
    started_s: float

    async def info(self, request: pb.GetServerInfoRequest, call: Call) -> pb.GetServerInfoResponse:
        """Version, capabilities, limits and models."""
        return pb.GetServerInfoResponse(
            version=VERSION,
            api_revision=API_REVISION,
            capabilities=self.capabilities,
            limits=[pb.Limit(name=name, value=value) for name, value in limits.table().items()],
            embedder=pb.EmbedderInfo(
                name=self.embedder_name,
                fingerprint=self.embedder.fingerprint,
                dimension=self.embedder.dim,
                max_tokens=self.embedder.max_tokens,
            ),
            reembedding=pb.ReembeddingInfo(
                memory_count=self.progress.total,
                memories_left=self.progress.left_count,
                users_left=len(self.progress.left),
                users_held_back=len(self.progress.held),
            )
            if self.progress.total
            else None,
            tokenizers=tokens.NAMES,
            start_time=times.to_wire(self.start_time_us),
            test_clock=self.test_clock,
        )

    async def stats(self, request: pb.GetStatsRequest, call: Call) -> pb.GetStatsResponse:
        """Counts of one user or of the whole tenant."""
        if request.HasField("scope"):
            scope = codec.scope(request.scope, call.tenant)
            user_id = scope.user_id
            user_count = int(self.partitions.count_of_user(call.tenant, user_id) > 0)
        else:
            user_id = ""
            user_count = self.partitions.users_of(call.tenant)
        statuses: Counter[int] = Counter()
        kinds: Counter[int] = Counter()
        for tally in await asyncio.to_thread(self.store.tally, call.tenant, user_id):
            statuses[tally.status] += tally.count
            if tally.status in CURRENT:
                kinds[tally.kind] += tally.count
        sizes = await asyncio.to_thread(self.store.stats)
        uptime_us = int((call.clock.monotonic_s() - self.started_s) * 1e6)
        return pb.GetStatsResponse(
            memory_count=sum(statuses.values()),
            statuses=[
                pb.StatusCount(status=status, count=count)
                for status, count in sorted(statuses.items())
            ],
            kinds=[pb.KindCount(kind=kind, count=count) for kind, count in sorted(kinds.items())],
            user_count=user_count,
            revision=self.writer.published(call.tenant),
            # How much others store is not this tenant's to know.
            data_bytes=sizes.file_bytes + sizes.wal_bytes if call.is_operator else 0,
            rss_bytes=rss_bytes() if call.is_operator else 0,
            uptime=Duration(seconds=uptime_us // 1_000_000, nanos=uptime_us % 1_000_000 * 1000),
        )


def rss_bytes() -> int:
    """Resident memory of this process; the peak where the system does not tell the present."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
