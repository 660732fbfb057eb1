"""What holds whatever is asked."""

from __future__ import annotations

import pytest

from recalld.server import standing
from recalld.storage.record import Importance, Kind
from tests.server.ranked import record


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"importance": Importance.PINNED, "kind": Kind.EVENT}, standing.PINNED),
        ({"importance": Importance.PINNED, "confidence": 0.1}, standing.PINNED),
        ({"key": "allergy"}, standing.CONSTRAINT),
        ({"key": "Health.Allergy", "importance": Importance.LOW}, standing.CONSTRAINT),
        ({"key": "健康.过敏"}, standing.CONSTRAINT),
        ({"key": "allergy", "kind": Kind.EVENT}, None),
        ({"key": "allergy", "confidence": 0.4}, None),
        ({"key": "allergy.clinic"}, None),
        ({"importance": Importance.HIGH}, standing.IMPORTANT),
        ({"importance": Importance.HIGH, "kind": Kind.PREFERENCE}, standing.IMPORTANT),
        ({"importance": Importance.HIGH, "kind": Kind.PROCEDURE}, standing.IMPORTANT),
        ({"importance": Importance.HIGH, "kind": Kind.STATE}, None),
        ({"importance": Importance.MEDIUM}, None),
    ],
)
def test_classes(fields: dict[str, object], expected: int | None) -> None:
    """Pinned ones stand, and so do lasting ones that are constraints by key or important."""
    assert standing.standing_class(record("x", **fields)) == expected
