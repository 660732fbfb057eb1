"""Tentative statements: what was only mused about, zh and en.

"Thought aloud about the Azores" is no plan. It reads words alone and knows no context; catalogues
of general language and nothing else.
"""

from __future__ import annotations

import re

from recalld.scoring.params import DECISION, EVENT, PINNED, PREFERENCE, PROGRESS, STATE

# What somebody wants, does or decides can be mused about. A fact that is only supposed is an unsure
# fact, which `confidence` tells, and may be a medical one.
KINDS = frozenset({PREFERENCE, STATE, EVENT, PROGRESS, DECISION})

_MUSING = re.compile(
    r"\b(?:some ?day|one of these days|at some point|(?:maybe|perhaps) one day|would be nice"
    r"|might be (?:nice|fun)"
    r"|(?:i|we)(?:['’]m| am|['’]re| are)? (?:half[- ])?(?:thinking|wondering|considering|toying"
    r"|dreaming|debating)\b|thought (?:aloud|out loud)|thinking (?:aloud|out loud)|toyed with"
    r"|toying with|played with the (?:idea|thought)|(?:just|only) an idea|float(?:ed|ing) the idea"
    r"|joked about|half[- ]joked|daydream\w*|in passing|off ?hand|not (?:yet )?decided|undecided"
    r"|(?:haven['’]?t|hasn['’]?t|have not|has not) (?:yet )?(?:decided|made up)"
    r"|(?:i|we) (?:might|may|could) (?:\w+ ){0,6}(?:instead|too|as well|some ?time)"
    r"|maybe (?:i|we)(?:['’]ll| will| should| could| might)?\b|perhaps (?:i|we)\b"
    r"|if (?:i|we) ever)"
    r"|随口|也许|说不定|没准|搞不好|哪天|有朝一日|要不[要把给让咱我去来就换试干]|以后再说|再说吧|到时候再说|还没(?:决定|想好|拿定|定下)|没拿定主意"
    r"|在考虑|考虑(?:要不要|过|着|一下)|想过要?|琢磨(?:着|过)|寻思|或许|有点想|心血来潮|开玩笑|纠结|犹豫|突发奇想|一时兴起|看看再说",
    re.IGNORECASE,
)

_IDEAS = re.compile(
    r"\bideas?\b|\bthoughts?\b|\bdreams?\b|\bconsider\w*|\bth(?:ink|inking|ought) (?:of|about)"
    r"|\bmentioned?\b|\bsaid\b|想法|主意|点子|想过|考虑|打算|提过|说过|愿望|念叨",
    re.IGNORECASE,
)


# One of these stands in every text that a pattern matches: looked for first, since a pattern with
# so many branches costs 10 us and more where none is there.
_SIGNS = (
    *("someday", "some day", "of these days", "some point", "one day", "would be", "might be"),
    *("think", "thought", "wondering", "consider", "toy", "dream", "debating", "played with"),
    *("idea", "joked", "in passing", "offhand", "off hand", "decided", "made up", "might "),
    *("may ", "could ", "maybe", "perhaps", "ever", "mention", "said"),
)
_SIGNS_ZH = (
    *("随口", "也许", "说不定", "没准", "搞不好", "哪天", "有朝一日", "要不", "再说", "还没"),
    *("没拿定", "考虑", "想过", "琢磨", "寻思", "或许", "有点想", "心血来潮", "开玩笑", "纠结"),
    *(
        "犹豫",
        "突发奇想",
        "一时兴起",
        "想法",
        "主意",
        "点子",
        "打算",
        "提过",
        "说过",
        "愿望",
        "念叨",
    ),
)
# Letters that a pattern takes for ASCII ones when it ignores case, and `lower` does not.
_LOOKALIKES = str.maketrans({"\u0131": "i", "\u017f": "s", "\u0130": "i"})


def _may_match(text: str) -> bool:
    """Whether one of the patterns could match."""
    signs: tuple[str, ...] = _SIGNS
    if not text.isascii():
        signs, text = _SIGNS + _SIGNS_ZH, text.translate(_LOOKALIKES)
    text = text.lower()
    return any(sign in text for sign in signs)


def is_tentative(kind: int, importance: int, text: str) -> bool:
    """Tell whether a memory only muses about something.

    Args:
        kind, importance: numbers of recalld.scoring.params.
        text: the content.
    """
    if kind not in KINDS or importance == PINNED or not _may_match(text):
        return False
    return bool(_MUSING.search(text))


def asks_for_ideas(text: str) -> bool:
    """Tell whether a request asks for what was mused about, or for what was said at all."""
    return _may_match(text) and bool(_IDEAS.search(text) or _MUSING.search(text))
