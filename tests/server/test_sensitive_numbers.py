"""Resident ids, cards and telephones among other numbers."""

from __future__ import annotations

import pytest

from recalld.server.sensitive import find
from recalld.server.sensitive_class import SensitiveClass
from recalld.server.sensitive_numbers import is_bank_card, is_old_resident_id, is_resident_id

# The example of GB 11643, test numbers that the card schemes publish, and made-up telephones.
NUMBERS = (SensitiveClass.RESIDENT_ID, SensitiveClass.BANK_CARD, SensitiveClass.PHONE)
RESIDENT_ID = "11010519491231002X"
CARD = "4111111111111111"


def found(text: str) -> list[tuple[str, SensitiveClass]]:
    """Parts and classes, in order, overlaps joined."""
    return [(text[f.start : f.end], f.sensitive_class) for f in find(text, NUMBERS)]


@pytest.mark.parametrize(
    "spelling",
    [
        RESIDENT_ID,
        "11010519491231002x",
        "110105 19491231 002X",
        "110105-19491231-002X",
        "1 1 0 1 0 5 1 9 4 9 1 2 3 1 0 0 2 X",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "身份证{}，收好", "my id is {}.", "2026-11-30: {}"])
def test_a_resident_id_is_found(spelling: str, frame: str) -> None:
    """A resident id is found in any grouping."""
    assert found(frame.format(spelling)) == [(spelling, SensitiveClass.RESIDENT_ID)]


@pytest.mark.parametrize(
    "number",
    [
        "110105194912310021",  # another check character
        "110105194913310022",  # no such month
        "990105194912310029",  # no such province
        f"7{RESIDENT_ID}",
        f"{RESIDENT_ID}1",
        f"DD{RESIDENT_ID}",
    ],
)
def test_other_long_numbers_are_no_resident_id(number: str) -> None:
    """Province, day, check character and the ends of the number all have to hold."""
    assert found(number) == []


def test_a_slip_in_a_resident_id_needs_a_word() -> None:
    """A check character that does not hold counts only where something says that it is an id."""
    assert found("身份证号码110105194912310021") == [
        ("110105194912310021", SensitiveClass.RESIDENT_ID)
    ]


def test_an_old_resident_id_needs_a_word() -> None:
    """Fifteen digits of an id are one only where something says so."""
    assert is_old_resident_id("110105491231002")
    assert found("老身份证110105491231002") == [("110105491231002", SensitiveClass.RESIDENT_ID)]
    assert found("number 110105491231002") == []


@pytest.mark.parametrize(
    "card",
    [
        CARD,
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "5555 5555 5555 4444",
        "2223003122003222",
        "3782 822463 10005",
        "378282246310005",
        "6011111111111117",
        "3056 930902 5904",
        "3566002020360505",
        "6200 0000 0000 0005",
        "6205500000000000004",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "卡号{}", "card {}, expires 12/28", "{} 12/28"])
def test_a_card_is_found(card: str, frame: str) -> None:
    """The schemes' published test numbers are found, as they are printed and at once."""
    assert found(frame.format(card)) == [(card, SensitiveClass.BANK_CARD)]


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",  # checksum
        "9111111111111119",  # no issuer
        "0000000000000000",
        f"订单号{CARD}",
        f"order number {CARD}",
        f"x{CARD}",
        f"¥{CARD}",
        f"{CARD}.5",
        "IMEI 490154203237518",
    ],
)
def test_other_numbers_are_no_card(text: str) -> None:
    """Without issuer, checksum or room of its own, or called something else, it is no card."""
    assert found(text) == []


def test_the_nearest_word_counts() -> None:
    """After both words, the last one before the number says what it is."""
    assert found(f"order paid by card {CARD}") == [(CARD, SensitiveClass.BANK_CARD)]
    assert found(f"card refund for order {CARD}") == []


@pytest.mark.parametrize(
    "phone",
    [
        "13800138000",
        "138 0013 8000",
        "138-0013-8000",
        "138.0013.8000",
        "1 3 8 0 0 1 3 8 0 0 0",
        "+8613800138000",
        "+86 138 0013 8000",
        "86 13800138000",
        "0086-13800138000",
        "010-65529988",
        "(0755) 8888 6666",
        "021 6888 8888",
        "0371-65529988",
        "+86 10 6552 9988",
        "+1 415-555-2671",
        "+44 20 7946 0958",
        "+4915123456789",
    ],
)
@pytest.mark.parametrize(
    "frame", ["{}", "打{}找我", "call {} now", "2026年11月30日 {}。", "phone:{}", "tel={};"]
)
def test_a_telephone_is_found(phone: str, frame: str) -> None:
    """Mobile, landline and international numbers are found whole, in their usual spellings."""
    assert found(frame.format(phone)) == [(phone, SensitiveClass.PHONE)]


def test_a_landline_in_one_needs_a_word() -> None:
    """Landline digits without anything between them count where a telephone is spoken of."""
    assert found("电话01065529988") == [("01065529988", SensitiveClass.PHONE)]
    assert found("01065529988") == []


@pytest.mark.parametrize(
    "text",
    [
        "12345678901",
        "138001380001",
        "订单13800138000",
        "ORD-13800138000",
        "学号 13800138000",
        "会议号 138-0013-8000",
        "meeting 138 0013 8000",
        "a/13800138000",
        "12:13800138000",
        "SF13800138000",
        "13800138000元",
        "13800138000.00",
        "0.13800138000",
        "139.196.135.88",
        "8001 1380 0138 000",
        "400-820-8820",
        "v13.8.0013.8000",
        "2026-11-30 15:38:12",
        "+15% and +2 points",
        "31.230416, 121.473701",
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_other_numbers_are_no_telephone(text: str) -> None:
    """Orders, amounts, addresses, dates, versions and places on the map stay."""
    assert found(text) == []


def test_many_international_numbers_are_taken_as_they_seem() -> None:
    """Behind the ones that are looked up, what seems a number counts as one."""
    text = "+999 123 456 789, " * 70
    assert 0 < len(found(text)) < 70


def test_checks_follow_the_standards() -> None:
    """Published numbers pass, and fail with any other last character."""
    assert [c for c in "0123456789X" if is_resident_id(RESIDENT_ID[:-1] + c)] == ["X"]
    assert [c for c in "0123456789" if is_bank_card(CARD[:-1] + c)] == ["1"]
