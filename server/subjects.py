"""What statements begin with: whether two are about neighbours, like rooms 301 and 302, or people.

Pure functions of claims, by words alone, zh and en. A number is a name where a statement begins
with it and the word before it is no preposition: "room 301 has a projector", not "the meeting is at
10" or "the key is in box 774", where the number is what is said. So is a capitalised word that a
verb follows: "customer Ann Abel pays by card", not "lives in Graz" or "uses Python for scripts".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recalld.index.analyzer import STOP_WORDS
from recalld.server.claims import HAN, Claim

RELATING = frozenset("在是有到从共约花为和给才只就已每第过于")
WORD_COUNT_MAX, HAN_COUNT_MAX = 2, 4
"""Words, or Chinese characters, before a number or a name that a statement begins with."""

_WORD = re.compile(r"\w[\w'’-]*")
_OWNERS = frozenset({"the", "a", "an", "my", "our", "your", "his", "her", "their"})
_NAMELESS = frozenset(
    {
        "only",
        "everyone",
        "everybody",
        "everything",
        "nobody",
        "nothing",
        "none",
        "somebody",
        "someone",
        "anyone",
        "anybody",
    }
)
_ADVERBS = frozenset(
    {"never", "always", "often", "usually", "sometimes", "still", "also", "now", "just", "really"}
)
_VERB = re.compile(r"[a-z]{2,}(?:s|ed)")
_BEING = frozenset({"is", "are", "was", "were"})
_AUXILIARIES = _BEING | frozenset(
    {
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
        "should",
        "must",
        "may",
        "does",
        "do",
        "did",
    }
)
_ONLY = _OWNERS - {"a", "an"}
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛"
    "闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤"
)
_SORTS = (
    "客户|顾客|用户|会员|患者|病人|学生|学员|同学|同事|员工"
    "|供应商|租客|房客|房东|司机|朋友|邻居|室友|队友"
)
_TITLES = "先生|女士|小姐|老师|医生|护士|律师|教练|经理|师傅|阿姨|叔叔|教授|主任|同学|总"
_HAN_NAMED = re.compile(
    rf"(?:我的?|我们的?|[那这]位)?"
    rf"(?:(?P<sort>{_SORTS})(?P<name>[{_SURNAMES}][\u3400-\u9fff])"
    rf"|(?P<titled>[{_SURNAMES}][\u3400-\u9fff]{{0,2}}?)(?P<title>{_TITLES}))"
)


class Named(NamedTuple):
    """What a statement begins with.

    Attributes:
        sort: of thing, "" where none is said.
        names: of the thing.
        is_identity: whether it goes on with what only one can be, as in "Ann is my boss": then the
            name is what is said.
    """

    sort: str
    names: frozenset[str]
    is_identity: bool = False


def are_apart(one: Claim, other: Claim) -> bool:
    """Whether both begin with a thing of one sort, of different numbers or names."""
    return _are_numbered_apart(one, other) or _are_named_apart(one, other)


def _are_numbered_apart(one: Claim, other: Claim) -> bool:
    """Whether both begin with a thing of one sort, of different numbers."""
    begins, other_begins = _numbered(one), _numbered(other)
    if begins is None or other_begins is None:
        return False
    (thing, number), (other_thing, other_number) = begins, other_begins
    return thing == other_thing and number != other_number


def _numbered(claim: Claim) -> tuple[str, str] | None:
    """The thing that a statement begins with and the number it bears, or None."""
    words = claim.words[: HAN_COUNT_MAX + 1]
    place = next((i for i, word in enumerate(words) if word in claim.numbers), 0)
    before = words[:place]
    is_han = all("\u3400" <= word <= "\u9fff" for word in before)
    if not before or (place > WORD_COUNT_MAX and not is_han):
        return None
    is_name = before[-1] not in STOP_WORDS and before[-1] not in RELATING
    return (before[-1], words[place]) if is_name else None


def _are_named_apart(one: Claim, other: Claim) -> bool:
    """Whether both begin with names of one sort of thing, and neither speaks of the other's."""
    begins, other_begins = _named(one), _named(other)
    if begins is None or other_begins is None or begins.sort != other_begins.sort:
        return False
    if begins.is_identity and other_begins.is_identity:
        return False
    names, other_names = begins.names - other_begins.names, other_begins.names - begins.names
    if not names or not other_names:
        return False
    speaks_of_it = any(_is_said(name, other) for name in names)
    return not speaks_of_it and not any(_is_said(name, one) for name in other_names)


def _is_said(name: str, claim: Claim) -> bool:
    """Whether a text holds a name, as a whole word where words end."""
    pattern = re.escape(name) if HAN.match(name) else rf"\b{re.escape(name)}\b"
    return bool(re.search(pattern, claim.folded))


def _named(claim: Claim) -> Named | None:
    """The sort of thing and the names that a statement begins with, or None."""
    if found := _HAN_NAMED.match(claim.text.strip()):
        sort, name = found["sort"] or found["title"], found["name"] or found["titled"]
        return Named(sort, frozenset({name}))
    words = [w for w in _WORD.findall(claim.text)[: WORD_COUNT_MAX + 6] if w not in _ADVERBS]
    if words and words[0].lower() in _OWNERS:
        words = words[1:]
    first = next((i for i, word in enumerate(words) if word[0].isupper()), len(words))
    after = next((i for i, word in enumerate(words) if i > first and not word[0].isupper()), None)
    if first > WORD_COUNT_MAX or after is None or not _is_verb(words[after]):
        return None
    names = [word.lower().removesuffix("'s") for word in words[first:after]]
    if names[0] in STOP_WORDS or names[0] in _NAMELESS:
        return None
    verb, *said = words[after:]
    is_identity = verb in _BEING and bool(said) and said[0].lower() in _ONLY
    return Named(" ".join(words[:first]), frozenset(names), is_identity)


def _is_verb(word: str) -> bool:
    """Whether a word after a name may be its verb, in the third person or the past."""
    return word in _AUXILIARIES or (word not in STOP_WORDS and bool(_VERB.fullmatch(word)))
