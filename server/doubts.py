from __future__ import annotations

from dataclasses import dataclass

from recalld.server.partition import CURRENT


@dataclass(frozen=True)
class Found:
    contradicted: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


def twin_of(change, record, vector):
    return None


def weigh(change, record, vector):
    change.rows.setdefault(record.label, record)
    return Found()


def release(change, ids):
    for other in change.matching(lambda r: r.superseded_by in ids and r.status in CURRENT):
        if not other.conflict_group:
            change.edit(other, superseded_by="")
