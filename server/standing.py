"""Standing memories: what holds whatever is asked, such as an allergy or a rule of the house.

They have a share of every context kept for them. Keys are general knowledge about people, not about
any data set.
"""

from __future__ import annotations

import re

from recalld.storage.record import Importance, Kind, MemoryRecord

LASTING = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE})
UNSURE_BELOW = 0.5
"""Confidence below which a memory is as likely wrong as right, and no standing one."""
CONSTRAINT_KEYS = frozenset(
    {
        "accessibility",
        "allergies",
        "allergy",
        "chronic_condition",
        "diet",
        "dietary_restriction",
        "dietary_restrictions",
        "disability",
        "intolerance",
        "intolerances",
        "medical_condition",
        "medication",
        "medications",
        "phobia",
        "pregnancy",
        "religion",
        "safety",
        "过敏",
        "过敏原",
        "用药",
        "忌口",
        "饮食禁忌",
        "慢性病",
        "信仰",
    }
)
PINNED, CONSTRAINT, IMPORTANT = range(3)
"""Classes of standing memories, the first one served first."""
SEGMENTS = re.compile(r"[./:]")


def standing_class(record: MemoryRecord) -> int | None:
    """PINNED, CONSTRAINT (by its key), IMPORTANT (a lasting one of high importance), or None."""
    if record.importance == Importance.PINNED:
        return PINNED
    if record.kind not in LASTING or record.confidence < UNSURE_BELOW:
        return None
    if SEGMENTS.split(record.key.lower())[-1] in CONSTRAINT_KEYS:
        return CONSTRAINT
    return IMPORTANT if record.importance == Importance.HIGH else None


def is_binding(record: MemoryRecord) -> bool:
    """Whether it is considered for every context, however low it ranks: pinned or a constraint."""
    return standing_class(record) in (PINNED, CONSTRAINT)
