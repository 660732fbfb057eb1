"""Findings as a whole: order, overlaps, names, placeholders, repeats."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.bench import sensitive_corpus
from recalld.bench.sensitive_corpus import Sample
from recalld.server.sensitive import PLACEHOLDER, find, replaced, with_repeats
from recalld.server.sensitive_class import CLASSES, SensitiveClass

SENSITIVE = tuple(sensitive_corpus.sensitive(seed=5, count=40))
ORDINARY = tuple(sensitive_corpus.ordinary(seed=5, count=40))
# Strings that are dear to look through, each repeated to the longest text there can be.
DEAR = (
    *("1 ", "1", "1.", "+1 ", "+1 415-555-267 ", "a_", "a@", "password ", "password is ' "),
    *(
        "key_",
        "key=",
        "sk-",
        "密码是",
        "abcd is my ",
        "eyJaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
    ),
)
TEXT_LENGTH_MAX = 16_384


def parts(text: str, name: str = "") -> list[tuple[str, SensitiveClass]]:
    """Parts and classes, in order."""
    return [(text[f.start : f.end], f.sensitive_class) for f in find(text, name=name)]


def plain(text: str) -> str:
    """A text without whatever may stand between the characters of a value."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).upper() if c.isalnum())


@given(st.sampled_from(SENSITIVE), st.sampled_from(["", "，另外", "\n"]), st.sampled_from(ORDINARY))
def test_a_value_is_gone_in_every_spelling(sample: Sample, gap: str, other: Sample) -> None:
    """What is left of a text, bare of spaces and marks, does not hold the value any more."""
    text = f"{sample.text}{gap}{other.text}" if gap else sample.text
    left = replaced(text, find(text), [" "] * len(find(text)))
    assert plain(sample.value) not in plain(left)


@given(st.sampled_from(ORDINARY))
def test_ordinary_text_stays(sample: Sample) -> None:
    """Nothing is found among ordinary numbers."""
    assert find(sample.text) == []


@given(st.text(max_size=60), st.sampled_from(SENSITIVE))
def test_findings_are_in_order_and_apart(text: str, sample: Sample) -> None:
    """Findings lie within the text, in order, without overlaps, also beside arbitrary text."""
    whole = text + sample.text + text
    end = 0
    for finding in find(whole):
        assert end <= finding.start < finding.end <= len(whole)
        end = finding.end


def test_classes_that_are_not_asked_for_hide_nothing() -> None:
    """A telephone in an address is found when only telephones are looked for."""
    text = "13800138000@qq.com"
    assert parts(text) == [(text, SensitiveClass.EMAIL)]
    phones = find(text, [SensitiveClass.PHONE])
    assert [(f.start, f.end) for f in phones] == [(0, 11)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("wifi.password", "hunter22", SensitiveClass.PASSWORD),
        ("api_key", "a1b2c3d4e5f60718", SensitiveClass.API_KEY),
        ("身份证", "110105491231002", SensitiveClass.RESIDENT_ID),
        ("order.id", "4111111111111111", None),
        ("user.password_hint", "my dog, 2026", None),
        ("location.home", "Porto", None),
    ],
)
def test_a_name_tells_of_its_text(name: str, text: str, expected: SensitiveClass | None) -> None:
    """The key under which a text stands says what it is, and takes no part in the finding."""
    assert parts(text, name) == ([(text, expected)] if expected else [])


@pytest.mark.parametrize("member", CLASSES)
@pytest.mark.parametrize("tag", ["", ":0123456789ab"])
def test_placeholders_are_not_sensitive(member: SensitiveClass, tag: str) -> None:
    """A placeholder is never found, whatever stands before it."""
    placeholder = f"[{member.label}{tag}]"
    assert PLACEHOLDER.fullmatch(placeholder)
    for frame in ("my password is {}", "密码是{}。", "api_key={}", "call {}"):
        assert find(frame.format(placeholder)) == []


def test_what_stands_beside_a_placeholder_is_found() -> None:
    """A placeholder inside a secret does not hide the rest of it."""
    block = "-----BEGIN PRIVATE KEY-----\nMII[phone]xyz"
    assert [text for text, _ in parts(block)] == ["-----BEGIN PRIVATE KEY-----\nMII", "xyz"]


def test_repeats_are_found_in_all_texts() -> None:
    """A value is found again where no sentence tells of it; a short one in its own text only."""
    texts = ["my password is hunter22, type hunter22", "ｈunter22 at home", "no 4821 here"]
    found = with_repeats(texts, [find(text) for text in texts])
    assert [len(each) for each in found] == [2, 1, 0]
    own = ["the PIN is 4821, so 4821, not 48210", "house 4821"]
    assert [len(each) for each in with_repeats(own, [find(text) for text in own])] == [2, 0]


def test_replacing_keeps_the_rest() -> None:
    """Text between and around findings stays byte for byte."""
    text = "a 13800138000 b x@example.com c"
    assert replaced(text, find(text), ["[1]", "[2]"]) == "a [1] b [2] c"


@pytest.mark.parametrize("text", DEAR)
def test_no_text_takes_for_ever(text: str) -> None:
    """Sixteen kilobytes of the dearest patterns are looked through to their end."""
    # A pattern that doubles its work with each character would not end in this test's life.
    whole = (text * TEXT_LENGTH_MAX)[:TEXT_LENGTH_MAX]
    assert all(finding.end <= TEXT_LENGTH_MAX for finding in find(whole))
