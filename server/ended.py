"""Whether a newer statement tells, in plain words, that what an older one says has ended.

Pure functions of claims, zh and en. "I gave up squash" ends "I play squash every Thursday": what is
said to have ended stands whole in the older statement, which speaks of the same person and tells of
something that lasts. What ends for others, in part, or at some hours only ends nothing here.
"""

from __future__ import annotations

import re

from recalld.server import cues
from recalld.server.claims import HAN, Claim
from recalld.server.subjects import subject_of

KNOWN_SHARE = 0.75
"""Share of the Chinese pairs of what has ended that the older statement holds."""

_SPEAKER = re.compile(
    r"^(?:\w+,? ){0,3}?(?:i|we)(?:['’](?:m|ve|re|ll|d))?\b"
    r"|^my (?:home|flat|house|apartment|employer|job|office|diet)\b|^(?:我|咱|本人)"
)
_OTHERS = re.compile(
    r"^(?:my|our|his|her|their|the) (?:\w+ )?(?:friend|boss|colleague|neighbou?r|parent|cousin"
    r"|flatmate"
    r"|roommate|mate|team|kid|child|nephew|niece|uncle|aunt|partner|\w*(?:mother|father|son"
    r"|daughter"
    r"|brother|sister|wife|husband|mum|mom|dad))s?\b"
    r"|^(?:我|咱)?们?的?(?:[爸妈爷奶父母哥弟姐妹叔姨舅姑嫂]|公公|婆婆|岳|老公|老婆|丈夫|妻子|儿子"
    r"|女儿|孩子|表[哥弟姐妹]|侄"
    r"|外甥|爱人|对象|[男女]朋?友|老师|闺蜜|朋友|同事|老板|领导|同学|邻居|室友|客户)"
)
_TIME = (
    r"month|week|year|spring|summer|autumn|winter|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
)
_WHEN = re.compile(
    rf"\b(?:last|this|next|in|on|since|early|late) (?:{_TIME})s?\b|\b(?:in|since) \d{{4}}\b"
    r"|\b(?:for good|completely|altogether|entirely|recently|yesterday|today|now|already|finally)\b"
    r"|\b(?:because|due to|since (?:the|my|i)|after (?!noon|lunch|dinner|dark|work|midnight|\d)).*"
)
"""When or why something ended, which the older statement cannot say."""
_VAGUE = frozenset({"job", "membership", "subscript", "habit", "clas", "lesson", "going", "goe"})
_ENDS = (
    re.compile(
        r"\b(?:quit|stopped|gave up|given up|giving up|no longer|got rid of|sold|unsubscribed from"
        r"|drop(?:ped)? out of|dropped|called off|cancel+ed|resigned from|used to)\b(?P<what>.+)"
    ),
    re.compile(r"(?:n['’]t|\bnot)\b(?P<what>.+?)\b(?:any ?more|any longer)\b"),
    re.compile(r"\blet (?P<what>.+) go\b"),
    re.compile(r"\breplaced (?P<what>.+) (?:with|by)\b"),
    re.compile(r"\b(?:switched|migrated|moved|changed) .*?\bfrom (?P<what>.+?) to\b"),
)
_IS_OFF = re.compile(
    r"^(?P<what>.+?) (?:was|were|is|are|has been|have been|got) (?:cancel+ed|called off"
    r"|discontinued"
    r"|scrapped|revoked|abandoned)\b"
)
_HAN_ENDS = (
    re.compile(r"(?:不再|再也不|(?:已经|早就|现在|以后|已)不)(?P<what>.+?)了?$"),
    re.compile(r"(?<![了要差受])不(?P<what>[^不]{2,8})了$"),
    re.compile(r"戒(?:掉|了)*(?P<what>.+?)了?$"),
    re.compile(
        r"(?:放弃|退订|取消|停止|停用|弃用|卖掉|注销|退出|停掉|辞掉|辞去)了?(?P<what>.{2,12}?)了?$"
    ),
    re.compile(r"从(?P<what>.{2,8}?)(?:离职|辞职|退学|搬走|搬出)"),
    re.compile(
        r"^(?P<what>.{2,14}?)(?:已经?|被|我|都|早就|给)*(?:取消|作废|停用|卖掉|卖了|送人|退掉|退了"
        r"|扔了|注销|停办|戒了|戒掉)了?$"
    ),
)
_HAN_TURNS = re.compile(
    r"(?:改(?:用|坐|骑|乘|开|走|喝|吃|穿|学|做|去|在|打|成|为)|换成)了?(?P<new>.{2,12}?)了?$"
)
_MUSED = re.compile(
    r"\b(?:would|want\w*|like|plan\w*|think\w*|might|may|should|try\w*|hop\w+|if|never|not"
    r"|could)\b|n['’]t\b"
    r"|想|打算|要|考虑|可能|如果|没|应该|准备|别|劝"
)
"""What stands before an end that has not come."""
_HAN_CLAUSE = re.compile(r"[,，;；。!！?？]")
_LEAD = re.compile(
    r"^(?:我们?|咱们?|把|的|那个?|这个?|去|再|已经|现在|最近|终于|早就|今年|去年|上个?[周月])+"
)
_PAST = re.compile(
    r"^(?:i|we) (?:\w+ed|bought|went|saw|took|had|got|made|met|read)\b|了[。!！]?$|\w过(?!敏|道|期"
    r"|年|节|夜)"
)
"""What happened once, which nothing ends."""


def is_ended(older: Claim, newer: Claim) -> bool:
    """Whether the newer statement tells that what the older one says is no longer so."""
    if older.ends or older.negations or _PAST.search(older.folded):
        return False
    if not (newer.ends or newer.changes or newer.is_called_off):
        return False
    if (of_whom := who(newer)) and of_whom != who(older):
        return False
    if HAN.search(newer.folded):
        return any(_ends_han(older, clause) for clause in _HAN_CLAUSE.split(newer.folded))
    return _ends(older, newer)


def who(claim: Claim) -> frozenset[str]:
    """Whom a statement is about: "i" for the speaker, else names or kin; empty where none is."""
    if other := _OTHERS.search(claim.folded):
        return frozenset({other[0]})
    if _SPEAKER.search(claim.folded):
        return frozenset({"i"})
    return subject_of(claim).names


def _ends(older: Claim, newer: Claim) -> bool:
    """Whether something that an English statement ends stands in the older one."""
    text = newer.folded.rstrip(" .!")
    if found := _IS_OFF.search(text):
        subject = list(older.content)[:1]
        return _is_whole(found["what"], older) and subject[0] in Claim(found["what"]).content
    for clause in re.split(r"[,;.]\s", text):
        for pattern in _ENDS:
            found = pattern.search(clause)
            if found and _is_whole(found["what"], older):
                before = clause[: found.start()]
                is_of_it = bool(_SPEAKER.search(clause)) or set(Claim(before).content) <= set(
                    older.content
                )
                return is_of_it and not _MUSED.search(before)
    return False


def _is_whole(what: str, older: Claim) -> bool:
    """Whether an older statement holds every word of what has ended."""
    words = set(Claim(_WHEN.sub(" ", what)).content)
    words = words - _VAGUE or words
    return bool(words) and words <= set(older.content)


def _ends_han(older: Claim, clause: str) -> bool:
    """Whether something that a Chinese clause ends stands in the older statement."""
    hours = [re.findall(condition, clause) for condition in cues.CONDITIONS]
    if any(hour not in older.folded for found in hours for hour in found):
        return False
    if (turn := _HAN_TURNS.search(clause)) and turn["new"] not in older.folded:
        return turn["new"][-2:] in older.folded and not _MUSED.search(clause[: turn.start()])
    for pattern in _HAN_ENDS:
        if found := pattern.search(clause):
            before, what = clause[: found.start()], Claim(_LEAD.sub("", found["what"]))
            is_known = _is_known(what, older) and set(what.numbers) <= set(older.numbers)
            is_of_it = not _LEAD.sub("", before) or _is_known(Claim(before), older)
            if what.text and is_known and is_of_it and not _MUSED.search(before):
                return True
    return False


def _is_known(what: Claim, older: Claim) -> bool:
    """Whether an older statement holds most pairs of characters of a text."""
    pairs = what.content
    if len(what.text) == 1:
        return what.text in older.folded
    return (pairs & older.content).total() >= KNOWN_SHARE * pairs.total()
