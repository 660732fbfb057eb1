"""Numbers that name a person or an account: resident ids, bank cards, telephones.

Digits are read in groups, as people write them. A group counts only where it stands by itself: what
continues in letters or in more digits is the number of something else, and so is what the words
before it call an order, a parcel or the like. It looks at folded text (`sensitive_text.py`).

Source: GB 11643-1999 (resident ids, check character after ISO 7064 MOD 11-2), ISO/IEC 7812-1 (card
numbers, Luhn), the numbering plan of mainland China; other countries' by libphonenumber.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import phonenumbers

from recalld.server.sensitive_class import Finding, SensitiveClass

DIGITS_MIN, DIGITS_MAX = 11, 19
CUE_REACH = 28
"""Characters before a number in which a word says what it is."""
INTERNATIONAL_REACH = 40
INTERNATIONAL_COUNT_MAX = 64
"""Further ones of a text are taken for what they seem: looking them up costs too much."""

_NUMBER = re.compile(r"\d(?:[^\w\n]{0,3}\d){6}")
_SEPARATOR = r"(?: ?[-./_] ?| )"
_CHAIN = re.compile(rf"\d+(?:{_SEPARATOR}\d+)*")
_GROUP = re.compile(r"\d+")
_CHECK_X = re.compile(r"(?: ?- ?| )?[Xx](?![A-Za-z0-9])")
_WORD_LEFT = re.compile(r"[A-Za-z0-9_]")
_TELEPHONE_WORD = re.compile(r"(?:tel|phone|mobile|cell|mob|fax|whatsapp)$", re.IGNORECASE)
_UNIT = re.compile(
    r" ?(?:元|块|万|亿|美|欧|港|日元|人民币|RMB|CNY|USD|EUR|%|字节|次|条|个|ms\b|毫秒|bytes?\b)"
)
_CUE = re.compile(
    r"(?P<other>订单|单号|编号|流水|运单|快递|物流|包裹|序列|工单|发票|批次|货号|条码|商品|版本|合同"
    r"|案号|学号|考号|考证号|产证|证书|会议|群号|工号|户号|保单|档案|社保|取件码|航班|设备|时间戳|IMEI|MEID|IMSI|ICCID|UUID|\bSN\b|\border|\btracking|\binvoice|\bserial"
    r"|\bparcel|\bpackage|\bshipment|\bwaybill|\bticket|\breference|\bref\b|\bbatch|\bSKU\b"
    r"|\bbarcode|\bISBN|\bEAN\b|\bcommit|\bbuild|\btimestamp|\btransaction|\bcase\b|\bcontract"
    r"|\bdevice|\bflight|\bconfirmation|\bmeeting|\bstudent|\bpolicy|\bqq\b)"
    r"|(?P<phone>手机|电话|座机|联系|拨打|打给|致电|热线|传真|微信|号码|\btel|\bphone|\bmobile|\bcell"
    r"|\bcall|\bfax|\btext\b|\breach|\bdial|\bring\b|whatsapp)"
    r"|(?P<card>银行卡|信用卡|储蓄卡|借记卡|卡号|账号|\bcard|\bvisa\b|\bmastercard|\bamex|\bdebit)"
    r"|(?P<resident>(?:身份证|证件|居民证)(?:号码?)?|\bresident id|\bID card|\bidentity"
    r"|\bnational id)",
    re.IGNORECASE | re.ASCII,
)
_SIGNS = frozenset("¥￥$€£#")
_JOINTS = frozenset("./-")
_CLAUSE = re.compile(r"[。；;!?！？\n]")
_LANDLINE = re.compile(
    r"(?<![A-Za-z0-9_.+*/#-])(?:(?P<country>\(?(?:\+|00)86\)?[ -]{0,2})?"
    r"(?P<area>(?P<open>\()?0?(?:10|2[0-57-9]|[3-9]\d\d)(?(open)\)))(?P<gap> ?- ?| )?"
    r"(?P<local>[2-8]\d{2,3}[ -]?\d{4}))(?![A-Za-z_./]\d|\d)"
)
_PLUS = re.compile(r"(?<![A-Za-z0-9+])\+ ?\(?[1-9](?:[ ()./-]{0,3}\d){6,14}")
_MOBILE = re.compile(r"(?:0086|86)?(1[3-9]\d{9})")
_MOBILE_SHAPES = frozenset(
    {(3, 4, 4), (3, 8), (7, 4), (4, 4, 3), (3, 3, 5), (4, 7), (3, 2, 2, 2, 2), (2,) * 5 + (1,)}
)
_CARD_SHAPES = frozenset({(4, 6, 5), (4, 6, 4)})
_CARD_ISSUERS = (
    (re.compile(r"62"), range(16, 20)),
    (re.compile(r"4"), range(16, 17)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), range(16, 17)),
    (re.compile(r"3[47]"), range(15, 16)),
    (re.compile(r"352[89]|35[3-8]"), range(16, 17)),
    (re.compile(r"6011|64[4-9]|65"), range(16, 17)),
    (re.compile(r"30[0-5]|3[68]"), range(14, 15)),
    (re.compile(r"95588|436742|601382"), range(19, 20)),
)
_PROVINCE = re.compile(r"1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"


@dataclass(frozen=True, slots=True)
class Group:
    """Digits without anything between them."""

    start: int
    end: int
    digits: str


def find_numbers(text: str) -> Iterator[Finding]:
    """Findings in a folded text, in no order; they may overlap."""
    if not _NUMBER.search(text):
        return
    for chain in _CHAIN.finditer(text):
        if chain.end() - chain.start() >= DIGITS_MIN:
            yield from _in_chain(text, chain.start(), chain.end())
    yield from _landlines(text)
    for count, plus in enumerate(_PLUS.finditer(text)):
        if count >= INTERNATIONAL_COUNT_MAX:
            yield Finding(*plus.span(), SensitiveClass.PHONE)
            continue
        part = text[plus.start() : plus.start() + INTERNATIONAL_REACH]
        for match in phonenumbers.PhoneNumberMatcher(part, None, phonenumbers.Leniency.POSSIBLE):
            # Ranges are opened all the time: digits that are set apart need not be of a known one.
            is_written_apart = len(re.findall(r"\d[ ()-]+\d", match.raw_string)) > 1
            if match.start == 0 and (
                is_written_apart or phonenumbers.is_valid_number(match.number)
            ):
                yield Finding(plus.start(), plus.start() + match.end, SensitiveClass.PHONE)


def _in_chain(text: str, start: int, end: int) -> Iterator[Finding]:
    """Findings among groups that follow each other."""
    groups = [Group(g.start(), g.end(), g[0]) for g in _GROUP.finditer(text, start, end)]
    gaps = [text[a.end : b.start] for a, b in pairwise(groups)]
    for first in range(len(groups)):
        if first and gaps[first - 1] != " ":
            continue
        digits = ""
        for last in range(first, len(groups)):
            digits += groups[last].digits
            if len(digits) > DIGITS_MAX:
                break
            if len(digits) < DIGITS_MIN or not _stands_alone(groups, gaps, first, last):
                continue
            found = _judge(text, groups[first : last + 1], set(gaps[first:last]), digits)
            if found is not None:
                yield found


def _stands_alone(groups: list[Group], gaps: list[str], first: int, last: int) -> bool:
    """Whether the groups from first to last are no part of a longer number.

    Beside more digits they stand alone only where a mere space parts them; and where spaces part
    their own groups too, only if the digits outside do not go on in the same measure.
    """
    has_spaces = " " in gaps[first:last]
    for here, other in ((first, first - 1), (last, last + 1)):
        if 0 <= other < len(groups):
            is_same_measure = len(groups[here].digits) == len(groups[other].digits)
            if gaps[min(here, other)] != " " or (has_spaces and is_same_measure):
                return False
    return True


def _judge(text: str, groups: list[Group], gaps: set[str], digits: str) -> Finding | None:
    """What some groups are together, the texts between them being `gaps`."""
    start, end = groups[0].start, groups[-1].end
    shape = tuple(len(group.digits) for group in groups)
    if _goes_on_before(text, start):
        return None
    if len(digits) == 17 and (check := _CHECK_X.match(text, end)):
        if is_resident_id(f"{digits}X"):
            return Finding(start, check.end(), SensitiveClass.RESIDENT_ID)
        return None
    if text[end : end + 1] and _WORD_LEFT.match(text[end]):
        return None
    found: SensitiveClass | None = None
    # With a word that says so, a check character that does not hold is a slip of the pen.
    if len(digits) == 18 and (
        is_resident_id(digits) or (is_born(digits) and cue_before(text, start) == "resident")
    ):
        return Finding(start, end, SensitiveClass.RESIDENT_ID)
    if len(digits) == 15 and is_old_resident_id(digits) and cue_before(text, start) == "resident":
        return Finding(start, end, SensitiveClass.RESIDENT_ID)
    if _is_card_shape(shape) and is_bank_card(digits):
        found = SensitiveClass.BANK_CARD
    elif _is_mobile(digits, shape, gaps):
        found = SensitiveClass.PHONE
    if found is None or _UNIT.match(text, end) or text[start - 1 : start] in _SIGNS:
        return None
    if cue_before(text, start) == "other":
        return None
    is_signed = found is SensitiveClass.PHONE and text[start - 1 : start] == "+"
    return Finding(start - is_signed, end, found)


def _goes_on_before(text: str, start: int) -> bool:
    """Whether what begins here is the end of a word, a path, a decimal fraction or the like."""
    before, one_more = text[start - 1 : start], text[max(0, start - 2) : max(0, start - 1)]
    if before and _WORD_LEFT.match(before):
        return not _TELEPHONE_WORD.search(text[max(0, start - 8) : start])
    if before == ":":
        return one_more.isdigit()
    if before not in _JOINTS or not _WORD_LEFT.match(one_more):
        return False
    return one_more.isdigit() or cue_before(text, start) in ("", "other")


def cue_before(text: str, start: int) -> str:
    """What the words before a number say it is: other, phone, card, resident or ""."""
    before = text[max(0, start - CUE_REACH) : start]
    found = ""
    for cue in _CUE.finditer(_CLAUSE.split(before)[-1]):
        found = cue.lastgroup or ""
    return found


def _is_mobile(digits: str, shape: tuple[int, ...], gaps: set[str]) -> bool:
    """A mobile number of mainland China, also with its country code."""
    found = _MOBILE.fullmatch(digits)
    if found is None:
        return False
    country = len(digits) - len(found[1])
    if country and shape[0] == country:
        shape = shape[1:]
    elif country:
        shape = (shape[0] - country, *shape[1:])
    if len(shape) == 1 or shape in _MOBILE_SHAPES:
        return True
    return shape == (1,) * 11 and "." not in "".join(gaps)


def _is_card_shape(shape: tuple[int, ...]) -> bool:
    """Ways to write a card number: at once, in fours, in issuer and rest, digit by digit."""
    if len(shape) == 1 or shape in _CARD_SHAPES or set(shape) == {1}:
        return True
    if set(shape[:-1]) == {4} and shape[-1] <= 4:
        return True
    return len(shape) == 2 and shape[0] in (4, 6, 8)


def is_bank_card(digits: str) -> bool:
    """A number of a known issuer whose Luhn checksum holds."""
    if not any(len(digits) in lengths and head.match(digits) for head, lengths in _CARD_ISSUERS):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0 and len(set(digits)) > 1


def is_resident_id(number: str) -> bool:
    """Eighteen characters of a resident id: province, day of birth and check character hold."""
    if not is_born(number):
        return False
    total = sum(int(digit) * weight for digit, weight in zip(number, _ID_WEIGHTS, strict=False))
    return number[17].upper() == _ID_CHECKS[total % 11]


def is_born(number: str) -> bool:
    """Whether the province and the day of birth of a resident id hold."""
    is_somewhere = bool(_PROVINCE.match(number))
    return is_somewhere and _is_day(number[6:10], number[10:12], number[12:14])


def is_old_resident_id(number: str) -> bool:
    """Fifteen digits of a resident id of before 1999: province and day of birth hold."""
    return bool(_PROVINCE.match(number)) and _is_day(
        f"19{number[6:8]}", number[8:10], number[10:12]
    )


def _is_day(year: str, month: str, day: str) -> bool:
    """A day on which somebody alive may have been born."""
    try:
        return 1880 <= date(int(year), int(month), int(day)).year <= 2099
    except ValueError:
        return False


def _landlines(text: str) -> Iterator[Finding]:
    """Landline numbers of mainland China."""
    for found in _LANDLINE.finditer(text):
        area = found["area"].strip("()")
        local = re.sub(r"\D", "", found["local"])
        if area[0] != "0" and not found["country"]:
            continue
        code = area.removeprefix("0")
        if len(local) != 8 and (len(local) != 7 or len(code) == 2):
            continue
        cue = cue_before(text, found.start())
        is_written_as_one = not found["gap"] and not found["open"]
        if cue == "other" or (is_written_as_one and not found["country"] and cue != "phone"):
            continue
        yield Finding(found.start(), found.end(), SensitiveClass.PHONE)
