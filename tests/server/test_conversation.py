"""What of a request and of the turns before it is asked about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.server.conversation import (
    EARLIER_CHARS_MAX,
    REQUEST_TOKENS_MAX,
    TURN_COUNT,
    Spoken,
    earlier_words,
    last_words,
    size,
    speak,
)
from recalld.server.query import REQUEST_WEIGHT, by_vectors

MAIL = "The minutes of last week are ready. The budget was checked by finance in March. "
POST = (
    "上周的会议纪要已经整理完毕，附件里有三份文档。财务部已经核对过数字！新办公室的平面图也在里面。"
)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("recommend a snack", "recommend a snack"),
        (MAIL * 3 + "Anyway. What should I cook tonight?", "Anyway. What should I cook tonight?"),
        (POST * 2 + "好了。今晚吃什么？", "好了。今晚吃什么？"),
        (f"{MAIL * 3}\nwhat should I cook tonight", "what should I cook tonight"),
        (f"what should I cook tonight?\n\n{'word ' * 80}.", ("word " * 80)[-102:] + "."),
    ],
)
def test_a_long_text_asks_at_its_end(text: str, asked: str) -> None:
    """Of a long text the last sentences are the request, of a short one all of it."""
    assert last_words(text).endswith(asked)
    assert size(last_words(text)) <= REQUEST_TOKENS_MAX


@given(st.text(min_size=1, max_size=600).filter(str.strip))
def test_last_words_are_of_the_text(text: str) -> None:
    """Whatever is said, its last words are not blank, no longer than a request, and its own."""
    last = last_words(text)
    assert last.strip()
    assert size(last) <= REQUEST_TOKENS_MAX
    assert "".join(last.split()) in "".join(text.split())


def test_one_text_where_nothing_was_said_before() -> None:
    """A short request by itself is embedded once."""
    assert speak("recommend a snack", ()) == (("recommend a snack",), True)


@given(
    st.text(min_size=1, max_size=400).filter(str.strip), st.lists(st.text("ab 好。.", max_size=99))
)
def test_the_whole_is_short_where_its_size_is(text: str, turns: list[str]) -> None:
    """What is embedded begins with the last words, and is short as the whole's own size says."""
    said, is_short = speak(text, turns)
    whole = " ".join([*map(last_words, turns[-TURN_COUNT:]), text])
    assert said == tuple(dict.fromkeys((last_words(text), whole)))
    assert is_short == (size(whole) <= REQUEST_TOKENS_MAX)


def test_the_last_two_turns_belong_to_what_is_talked_about() -> None:
    """The request is embedded alone and with the two turns before it; of a long one, its end."""
    turns = ("forgotten", MAIL * 3 + "What a week.", "tell me")
    request, whole = speak("any ideas?", turns).texts
    assert request == "any ideas?"
    assert whole.endswith("What a week. tell me any ideas?")
    assert "forgotten" not in whole
    assert size(whole) < 3 * REQUEST_TOKENS_MAX


def test_words_of_earlier_turns_are_bounded() -> None:
    """Of very long turns the end is looked up."""
    assert earlier_words(("a" * 9_000, "tea")) == "a" * (EARLIER_CHARS_MAX - 4) + " tea"


def test_likeness_of_the_whole_and_need_of_the_request() -> None:
    """The first vector has the whole's likeness and the request's need, the second the reverse."""
    vectors = np.array([[1, 2, 10, 20], [3, 4, 30, 40]], dtype=np.float32)
    query = by_vectors(
        {"m": vectors}, Spoken(("ask", "told. ask"), True), ("ask", "told."), {"m": 2}
    )
    assert query.vectors["m"] is not None
    assert query.vectors["m"].tolist() == [[3, 4, 10, 20], [1, 2, 30, 40]]
    assert query.vector_weights == (1.0, REQUEST_WEIGHT)


def test_need_is_never_asked_of_a_long_whole() -> None:
    """Where the whole is longer than relevance knows, only the request says what is needed."""
    vectors = np.array([[1, 2, 10, 20], [3, 4, 30, 40]], dtype=np.float32)
    spoken = Spoken(("ask", MAIL * 3), is_short=False)
    query = by_vectors({"m": vectors}, spoken, ("ask", MAIL), {"m": 2})
    assert query.vectors["m"] is not None
    assert query.vectors["m"].tolist() == [[3, 4, 10, 20], [1, 2, 10, 20]]
