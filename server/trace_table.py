"""The candidates of a trace: one record each, and what they look like on the wire.

They hold ids and numbers, never text. Nothing here searches or writes; `storage/FORMAT.md` says how
the bytes are laid out.

Invariants: ranked candidates come first, best first, then those left out before ranking, best
first; the parts of a candidate reproduce its score.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.examine import LEFT_OUT_COUNT_MAX, RANKED_COUNT_MAX, Examined
from recalld.index.plan import Ranking
from recalld.scoring import explain
from recalld.scoring.decay import CONFIDENCE_ROW, DECAY_ROW, FACTOR_COUNT, IMPORTANCE_ROW
from recalld.scoring.params import CHANNEL_COUNT, Channel, Fusion
from recalld.server.hits import DROP_REASONS, wire_parts
from recalld.storage.record import MemoryRecord
from recalld.v1 import recall_service_pb2 as pb

ID_BYTES = 32
COMPRESSION = 1
"""zlib's fastest: most numbers of a candidate are those of its neighbours."""

Table = NDArray[np.void]


def layout(channel_count: int) -> np.dtype[np.void]:
    """The record of one candidate, packed."""
    channels = ("<f4", (channel_count,))
    return np.dtype(
        [
            ("id", f"S{ID_BYTES}"),
            ("user", "u1"),
            ("reason", "u1"),
            ("fusion", "u1"),
            ("rank", "<i4"),
            ("score", "<f4"),
            ("base", "<f4"),
            ("bias", "<f8"),
            ("weights", *channels),
            ("raw", *channels),
            ("normalised", *channels),
            ("factors", "<f4", (FACTOR_COUNT,)),
        ]
    )


LAYOUT = layout(CHANNEL_COUNT)


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate that is still here: its record and where its numbers are."""

    record: MemoryRecord
    user: int
    ranking: Ranking
    place: int
    reason: int = 0
    is_scored: bool = True

    @property
    def score(self) -> float:
        """Its score."""
        return float(self.ranking.scores[self.place])

    def order(self) -> tuple[float, int, int]:
        """Sort key over several partitions, the one of the answer."""
        return -self.score, -self.record.create_time_us, -self.record.label


def make_table(
    parts: Sequence[tuple[int, Callable[[int], MemoryRecord | None], Examined]],
    reason_of: Callable[[MemoryRecord, float, int], int],
) -> Table:
    """Candidates of a recall.

    Args:
        parts: for each partition: its place among the users named, the record of a label (None
            for one that is gone), and what was seen.
        reason_of: record, score, rank -> DropReason of a ranked one.
    """
    ranked: list[Found] = []
    left_out: list[Found] = []
    for user, record, seen in parts:
        # Where ranks count, or only a filter was asked, nobody can say what would have been.
        weights, instead = seen.ranked.weights, seen.left_out.weights
        is_scored = weights.fusion == instead.fusion and bool(instead.channels.any())
        for place, label in enumerate(seen.ranked.labels.tolist()):
            if (found := record(label)) is not None:
                ranked.append(Found(found, user, seen.ranked, place))
        for place, label in enumerate(seen.left_out.labels.tolist()):
            if (found := record(label)) is not None:
                reason = DROP_REASONS[int(seen.reasons[place])]
                left_out.append(Found(found, user, seen.left_out, place, reason, is_scored))
    if len(parts) > 1:
        ranked.sort(key=Found.order)
        left_out.sort(key=Found.order)
    del ranked[RANKED_COUNT_MAX:], left_out[LEFT_OUT_COUNT_MAX:]
    kept = [*ranked, *left_out]
    table = np.zeros(len(kept), dtype=LAYOUT)
    table["id"] = [item.record.id.encode("ascii") for item in kept]
    table["user"] = [item.user for item in kept]
    for _, _, seen in parts:
        for ranking in (seen.ranked, seen.left_out):
            rows = [n for n, item in enumerate(kept) if item.ranking is ranking and item.is_scored]
            fill(table, rows, ranking, [kept[row].place for row in rows])
    table["rank"][: len(ranked)] = np.arange(1, len(ranked) + 1)
    table["reason"] = [
        reason_of(item.record, item.score, row + 1) if row < len(ranked) else item.reason
        for row, item in enumerate(kept)
    ]
    return table


def fill(table: Table, rows: list[int], ranking: Ranking, places: list[int]) -> None:
    """Write scores and parts of places of a ranking into records."""
    weights = ranking.weights
    table["fusion"][rows] = int(weights.fusion)
    table["score"][rows] = ranking.scores[places]
    table["base"][rows] = ranking.base[places]
    table["bias"][rows] = weights.bias
    table["weights"][rows] = weights.channels
    table["raw"][rows] = ranking.raw[:, places].T
    table["normalised"][rows] = ranking.normalised[:, places].T
    table["factors"][rows] = ranking.factors[:, places].T


def wire_candidate(row: Any) -> pb.TraceCandidate:
    """A record as it goes out."""
    message = pb.TraceCandidate(
        memory_id=row["id"].decode("ascii"),
        rank=int(row["rank"]),
        score=float(row["score"]),
        drop_reason=int(row["reason"]),
    )
    if row["fusion"]:
        message.parts.CopyFrom(wire_parts(score_parts(row)))
    return message


def score_parts(row: Any) -> explain.ScoreParts:
    """The parts that make a record's score."""
    # An older server may have had fewer channels, a newer one more.
    channels = tuple(
        explain.ChannelPart(
            Channel(number),
            float(row["raw"][number]),
            float(row["normalised"][number]),
            float(weight),
        )
        for number, weight in enumerate(row["weights"][:CHANNEL_COUNT])
        if weight > 0
    )
    factors = row["factors"]
    return explain.ScoreParts(
        channels,
        Fusion(int(row["fusion"])),
        float(row["bias"]),
        float(row["base"]),
        float(factors[DECAY_ROW]),
        float(factors[IMPORTANCE_ROW]),
        float(factors[CONFIDENCE_ROW]),
        float(row["score"]),
    )


def pack(table: Table) -> bytes:
    """The bytes of a table."""
    count = table.dtype["weights"].shape[0]
    return zlib.compress(bytes([count]) + table.tobytes(), COMPRESSION)


def unpack(data: bytes) -> Table:
    """The table of some bytes; those that this module did not make are a fault."""
    plain = zlib.decompress(data)
    return np.frombuffer(plain, dtype=layout(plain[0]), offset=1)
