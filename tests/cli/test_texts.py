"""Times and JSON objects as people type them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from recalld.cli import texts
from recalld.client import Kind


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-11-30T12:00:00Z", datetime(2026, 11, 30, 12, tzinfo=UTC)),
        ("2026-11-30T20:00:00+08:00", datetime(2026, 11, 30, 12, tzinfo=UTC)),
        ("1796040000", datetime(2026, 11, 30, 12, tzinfo=UTC)),
        (1796040000, datetime(2026, 11, 30, 12, tzinfo=UTC)),
        (0.5, datetime(1970, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_times(given: str | float, expected: datetime) -> None:
    """RFC 3339 and seconds since 1970 mean the same instant everywhere."""
    assert texts.parse_time("t", given, local=False) == expected


def test_bare_date_is_local_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    """In local reading a bare date is midnight of the machine's timezone."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        parsed = texts.option_time("--event-time", "2026-11-30")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert parsed == datetime(2026, 11, 30, tzinfo=timezone(timedelta(hours=8)))


@pytest.mark.parametrize("given", ["soon", "", "1e400", True, None])
def test_what_is_no_time_is_refused(given: object) -> None:
    """Anything else raises ValueError that names the option."""
    with pytest.raises(ValueError, match="--as-of: "):
        texts.parse_time("--as-of", given, local=True)  # type: ignore[arg-type]


def test_objects() -> None:
    """A JSON object is read; a list or broken JSON raises ValueError."""
    assert texts.option_object("--value", '{"a": [1]}') == {"a": [1]}
    assert texts.option_object("--value", None) is None
    with pytest.raises(ValueError, match="--value: not a JSON object"):
        texts.option_object("--value", "[1]")
    with pytest.raises(ValueError, match="--value: not JSON"):
        texts.option_object("--value", "{")


def test_choices() -> None:
    """A member is taken in any letter case; another word raises ValueError with the choices."""
    assert texts.option_choice("--kind", Kind, "Fact") == "fact"
    assert texts.option_choice("--kind", Kind, None) is None
    for given in ("foo", "unspecified", ""):
        with pytest.raises(ValueError, match=rf"^--kind: '{given}' is none of fact, preference, "):
            texts.option_choice("--kind", Kind, given)


def test_bytes_that_are_no_text() -> None:
    """Text with a lone surrogate, alone or in a list, raises ValueError with the name."""
    for given in ("a\udcff", ["a", "\udc80"]):
        with pytest.raises(ValueError, match=r"^--when: .* not UTF-8"):
            texts.check_unicode("--when", given)
    for fine in ("字", ["a"], None, 5, True, []):
        texts.check_unicode("--when", fine)
