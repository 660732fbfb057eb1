"""Folding: one form for many spellings, and the way back to the original."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.server.sensitive_text import fold


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("１３８", "138"),
        ("a＠b．ｃom", "a@b.com"),
        ("138\u200b0013\u20608000", "13800138000"),
        ("138\u20140013", "138-0013"),
        ("138\u30000013", "138 0013"),
        ("\u0661\u0663\u0668", "138"),
        ("幺三八零零一三八零零零", "13800138000"),
        ("二〇二六年", "二〇二六年"),
        ("密码：abc1，谢谢", "密码:abc1，谢谢"),
    ],
)
def test_spellings_become_one(text: str, folded: str) -> None:
    """Full width, other scripts, unseen characters and long runs of numerals become ASCII."""
    assert fold(text).text == folded


@given(st.text(st.sampled_from("1a１\u200b—\u3000是\ufeff۵ "), max_size=30), st.data())
def test_a_part_leads_back_to_its_original(text: str, data: st.DataObject) -> None:
    """The span of a folded part, folded alone, gives that part again."""
    folded = fold(text)
    if not folded.text:
        return
    start = data.draw(st.integers(0, len(folded.text) - 1))
    end = data.draw(st.integers(start + 1, len(folded.text)))
    low, high = folded.span(start, end)
    assert fold(text[low:high]).text == folded.text[start:end]


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_its_own_form(text: str) -> None:
    """ASCII text is returned as it is."""
    assert fold(text).text is text
