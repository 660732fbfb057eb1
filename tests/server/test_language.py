"""Which language a text is in."""

from __future__ import annotations

import pytest

from recalld.server.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("喜欢喝茶", "zh"),
        ("likes tea", "en"),
        ("用 PostgreSQL 和 Kubernetes 部署", "zh"),
        ("The word 茶 means tea in the language of the country that it came from", "en"),
        ("12345 !?", "und"),
        ("", "und"),
        ("чай", "und"),
    ],
)
def test_languages(text: str, language: str) -> None:
    """A tenth of Han characters among the letters makes a text Chinese, Latin letters English."""
    assert detect_language(text) == language
