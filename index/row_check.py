"""What rows have to be like before they are written into columns. It changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recalld.index.backend import LABEL_MAX
from recalld.index.columns import SMALL_FIELDS, IndexRow
from recalld.index.errors import BadLabel, BadPlan
from recalld.scoring.params import (
    DOUBT_COUNT,
    IMPORTANCE_COUNT,
    KIND_COUNT,
    STATED_BY_COUNT,
    STATUS_COUNT,
    VISIBILITY_COUNT,
)

_LIMITS = (
    KIND_COUNT,
    STATUS_COUNT,
    IMPORTANCE_COUNT,
    STATED_BY_COUNT,
    VISIBILITY_COUNT,
    DOUBT_COUNT,
)


def check_rows(rows: Sequence[IndexRow]) -> None:
    """Check the values of rows before anything is written.

    Raises:
        BadLabel: when a label is named twice or out of range.
        BadPlan: when another value is out of range.
    """
    if len({row.label for row in rows}) != len(rows):
        raise BadLabel("a label is named twice")
    for row in rows:
        if not 1 <= row.label <= LABEL_MAX:
            raise BadLabel(f"label {row.label} is not in [1, {LABEL_MAX}]")
        for name, value, limit in zip(SMALL_FIELDS, row.small(), _LIMITS, strict=True):
            if not 0 <= value < limit:
                raise BadPlan(f"{name} {value} of label {row.label} is not in [0, {limit})")
        if not (math.isfinite(row.confidence) and 0 <= row.confidence <= 1):
            raise BadPlan(f"confidence {row.confidence} of label {row.label} is not in [0, 1]")
