"""From text to tokens."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.analyzer import Analyzer
from recalld.index.folding import Folder

ANALYZER = Analyzer()
FOLDER = Folder()


def words(text: str) -> list[str]:
    """Return the tokens of a text."""
    return list(ANALYZER.analyze(text).words)


def identifiers(text: str) -> set[str]:
    """Return the identifiers of a text."""
    return set(ANALYZER.analyze(text).identifiers)


def test_english_is_lower_cased_stemmed_and_freed_of_stop_words():
    """Inflected forms meet in one stem; function words vanish."""
    assert words("The cats were RUNNING to my houses") == ["cat", "run", "hous"]
    assert words("don't worry about user's peanuts") == ["worri", "user", "peanut"]


def test_a_text_of_stop_words_keeps_them():
    """Cutting stop words never leaves nothing."""
    assert words("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert words("... !") == []


def test_chinese_gives_characters_and_neighbouring_pairs():
    """Chinese becomes characters and pairs; names of the same characters differ in pairs."""
    assert words("喝咖啡") == ["喝", "咖", "啡", "喝咖", "咖啡"]
    one, other = words("林书瑶"), words("林瑶书")
    assert {w for w in one if len(w) == 2}.isdisjoint(w for w in other if len(w) == 2)
    assert {w for w in one if len(w) == 1} == {w for w in other if len(w) == 1}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("订单DD20261118-7742已发货", "dd20261118-7742"),
        ("升级到v2.3.1了", "v2.3.1"),
        ("error E-1042 again", "e-1042"),
        ("firmware 4.10.2", "4.10.2"),
        ("48279", "48279"),
        ("限速35 km/h", "35km/h"),
        ("use snake_case here", "snake_case"),
        ("write to a.b@mail.example", "a.b@mail.example"),
        ("see /usr/local/bin/run.py", "usr/local/bin/run.py"),
        ("call getUserName now", "getusername"),
        ("key location.home", "location.home"),
        ("at 12:30 sharp", "12:30"),
    ],
)
def test_identifiers_are_whole_tokens(text, whole):
    """Whatever names one thing is one token, also inside Chinese text."""
    assert whole in words(text)
    assert whole in identifiers(text)


def test_parts_of_an_identifier_are_found_too():
    """Parts that say something are tokens of their own; single digits and letters are not."""
    assert {"dd20261118-7742", "20261118", "7742"} <= set(words("DD20261118-7742"))
    assert "4" not in words("4.10.2")
    assert {"user", "name"} <= set(words("getUserName"))
    assert "2.3.1" in words("v2.3.1")


@pytest.mark.parametrize("text", ["well-known", "JavaScript", "in 2025", "the 8th", "35", "and/or"])
def test_ordinary_words_years_and_small_numbers_are_no_identifiers(text):
    """What many memories hold does not name one of them."""
    assert identifiers(text) == set()


def test_traditional_and_simplified_chinese_find_each_other():
    """Both scripts give the same tokens, and words that differ stay apart."""
    assert words("皇后在後面聽樂隊") == words("皇后在后面听乐队")
    assert "皇后" in words("皇后大道")
    assert FOLDER.fold("乾隆皇帝") == "乾隆皇帝"
    assert FOLDER.fold("餅乾乾燥") == "饼干干燥"


def test_width_and_odd_characters_are_folded():
    """Full-width letters are letters; controls and zero-width characters separate words."""
    assert words("ＡＢＣ１２３") == words("abc123")
    assert words("alpha\x00beta\u200bgamma\ufeff") == ["alpha", "beta", "gamma"]


@given(st.text(max_size=200))
def test_any_text_is_analysed_the_same_way_twice(text):
    """Analysis is total and deterministic, tokens are lower case and not blank."""
    first = ANALYZER.analyze(text)
    assert first == ANALYZER.analyze(text)
    assert first.identifiers <= set(first.words)
    assert all(word and not word.isspace() for word in first.words)


@given(st.text(max_size=100))
def test_folding_is_idempotent_on_plain_text(text):
    """Folding ASCII again changes nothing, and no control character survives folding."""
    folded = FOLDER.fold(text)
    assert not any(ord(c) < 32 or ord(c) == 127 for c in folded)
    if folded.isascii():
        assert FOLDER.fold(folded) == folded


def test_threads_share_one_analyzer():
    """Stemming from many threads gives what one thread gives."""
    texts = [f"running{n} generously cities{n} flying tester{n % 7}s" for n in range(400)]
    expected = [Analyzer().analyze(text) for text in texts[:40]]
    shared = Analyzer()
    wrong: list[int] = []

    def work() -> None:
        for n, text in enumerate(texts):
            tokens = shared.analyze(text)
            if n < 40 and tokens != expected[n]:
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


PIECES = st.sampled_from(
    ["don't", "C++", "5", "5.5", "km", "KM/h", "v2.3.1", "the", "Cats", "getName", "喝咖啡", "a_b"]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=12), st.sampled_from([" ", "\n"]))
def test_piece_by_piece_is_the_whole(pieces: list[str], blank: str) -> None:
    """A text read piece by piece, known pieces included, has the tokens of the text read whole."""
    text = blank.join(pieces)
    for analyzer in (Analyzer(), ANALYZER, ANALYZER):
        got = analyzer.analyze(text)
        found, stopped, named = analyzer._read(FOLDER.fold(text))
        assert (list(got.words), got.identifiers) == (found or stopped, set(named))
