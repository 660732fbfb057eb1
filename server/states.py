"""States of which a person has one at a time, read from plain statements, zh and en.

A catalogue of general knowledge: home, employer, diet, marriage, smoking, drinking, work, children.
Two statements of one person that name different states of one sort cannot both hold: the newer one
tells of a change where it says so, else they contradict each other. It reads what is said plainly
and nothing between the lines; places are compared by name, so a town and its country never are.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recalld.index.judge import Stand
from recalld.server.claims import Claim
from recalld.server.ended import who

Patterns = tuple[re.Pattern[str], ...]


class Sort(NamedTuple):
    """A sort of state.

    Attributes:
        states: patterns of texts in lower case, the first that is found names the state.
        turns: what tells of a turn, beside `TURNS`.
        is_of_kin: whether kin tell of it: "my son" says that the speaker has children.
    """

    states: Patterns
    turns: re.Pattern[str] | None = None
    is_of_kin: bool = False


def _sort(*states: str, turns: str = "", is_of_kin: bool = False) -> Sort:
    compiled = tuple(re.compile(state) for state in states)
    return Sort(compiled, re.compile(turns) if turns else None, is_of_kin)


TURNS = re.compile(
    r"\b(?:again|went|gone|became|become|turned|started|since|from now on|now|no longer|any ?more"
    r"|got|quit|stopped|gave up|these days)\b|现在|开始|改|变成|成了|不再|戒|已经"
)
HEDGED = re.compile(
    r"\b(?:want|wants|plan|planning|try|trying|hope|might|may|would|if|should|used to|almost)\b"
    r"|想|打算|考虑|如果|要是|试着|努力|以前|曾经|之前|差点"
)
"""What is only wished, or is past."""
_SAID = r"^(?:(?!n['’]t|\bnot\b|\bnever\b|[不没别少非]).)*?"
"""No denial stands before a state."""
SORTS = (
    _sort(
        r"\b(?:i'm|i am|am|be|been|being|went|gone|became|turned|going) (?:\w+ ){0,2}(?:vegetarian"
        r"|vegan)\b(?! \w*(?:food|recipe|restaurant|dish|option|cook|place|chef))"
        r"|(?:n['’]t|not|never) eat (?:any )?meat|吃素|素食者|素食主义|不吃肉|不沾荤",
        rf"{_SAID}(?:\beat(?:ing)? (?:everything|(?:red )?meat|steak|beef|pork|chicken)\b|什么都吃"
        r"|吃肉|吃牛排|无肉)",
    ),
    _sort(
        rf"{_SAID}(?:\b(?:divorced|(?:am|are|'m|got) separated)\b|离婚|离异|分居)",
        rf"{_SAID}(?:\bmarried\b|已婚|结婚了|结了婚|领证了|完婚)",
        rf"{_SAID}(?:\b(?:i'm|i am|still) (?:still )?single\b|单身)|未婚|没结婚",
        turns=r"\bgot (?:married|divorced)\b|结婚了|离婚了|结了婚|离了婚|领证了",
    ),
    _sort(
        r"(?:n['’]t|not|never) smoke|non-?smoker|(?:quit|stopped|gave up) smoking|不抽烟|不吸烟"
        r"|不碰烟|戒烟|戒了烟|烟.?戒",
        rf"{_SAID}(?:\bi (?:\w+ )?smoke\b(?! (?:fish|salmon|meat|ham|cheese))|cigarettes a day|抽烟"
        r"|吸烟|抽.{0,3}包烟|烟民)",
    ),
    _sort(
        r"(?:n['’]t|not|never) (?:drink|touch) (?:any )?alcohol|teetotal|\bsober\b"
        r"|(?:quit|stopped|gave up) drinking(?: alcohol)?(?:$|[,.;])|滴酒不沾|不喝酒|戒酒|戒了酒"
        r"|酒.?戒",
        rf"{_SAID}(?:\bdrink (?:\w+ ){{0,2}}(?:beers?|wine|whisky|vodka|alcohol)\b"
        r"|\b(?:glass|glasses|pint) of (?:wine|beer)|喝[^,，。无]{0,3}酒)",
    ),
    _sort(
        r"\bfound (?:work|a (?:new )?job)\b|\bgot (?:a|the) (?:new )?job\b"
        r"|\bstarted (?:work\b|a new job|as an? )|找到(?:新?工作)|入职",
        rf"{_SAID}(?:\bunemployed\b|out of work|between jobs|looking for (?:work\b|a (?:new )?job)"
        r"|待业|失业|找工作)|没有?工作",
        turns=r"\bfound\b|找到|入职",
    ),
    _sort(
        rf"{_SAID}(?:\bpregnant\b|怀孕)",
        r"^(?:our|the|my) baby (?:was|is|has been) born|^i gave birth"
        r"|^(?:孩子|宝宝|我).{0,4}(?:出生|生了)",
        turns=r"born|birth|出生|生了",
        is_of_kin=True,
    ),
    _sort(
        r"\bhave no (?:children|kids)\b|(?:n['’]t|not) have (?:any )?(?:children|kids)\b|没有?孩子"
        r"|没有?小孩|丁克",
        r"^(?:my|our) (?:son|daughter|kids|children)\b|^我(?:家|的)?(?:儿子|女儿)",
        is_of_kin=True,
    ),
    _sort(
        r"\bonly child\b|独生子|独生女|独子",
        r"^my (?:\w+ )?(?:brother|sister)s?\b(?!-)|^我(?:的)?(?:哥|姐(?!夫)|弟(?!媳)|妹(?!夫))",
        is_of_kin=True,
    ),
    _sort(
        rf"{_SAID}(?:\bbought (?:a|our own) (?:house|flat|home)\b|买了?房)",
        rf"{_SAID}(?:\brent (?:a|our) (?:house|flat)\b|租房)",
    ),
)
_NAME = r"([A-Z][\w.'-]+(?: [A-Z][\w.'-]+)*)"
_PLACE = r"([\u3400-\u9fff]{2,4}?)"
_HOMES = (
    re.compile(
        rf"\b(?:live|living|reside) in {_NAME}|\b(?:home|flat|house|apartment) is in {_NAME}"
    ),
    re.compile(rf"我们?(?:现在)?(?:住在|家在){_PLACE}(?=$|[,，。;；的])"),
)
_MOVES = (
    re.compile(rf"\b(?:have |'ve )?(?:moved|relocated)(?: away| back| over)? to {_NAME}"),
    re.compile(rf"^[^把]*搬(?:家|回)?(?:到|去|往|至|来)了?{_PLACE}(?=$|[,，。;；]|了|住|去)"),
)
_EMPLOYERS = (
    re.compile(rf"\b(?:work|working|employed) (?:at|for|by) {_NAME}"),
    re.compile(rf"我们?(?:现在)?在{_PLACE}(?:上班|工作|任职|就职)"),
)
_HIRED = (
    re.compile(
        rf"\b(?:(?:started|starting|start)(?: work| working| a (?:new )?job)?|new job|a job|hired"
        rf"|employed) (?:at|with|by|for) {_NAME}"
    ),
    re.compile(rf"(?:跳槽到?|入职)了?{_PLACE}(?=$|[,，。;；]|了|上班|工作)"),
)
_EMPLOYED = (
    re.compile(rf"\bmy employer is {_NAME}", re.IGNORECASE),
    re.compile(rf"我是{_PLACE}的?(?:员工|职员)"),
)
_WORDS = """vegetarian vegan meat everything steak beef pork chicken marri divorc separated single
    smok cigarette alcohol teetotal drink sober wine beer job work employ started hired born birth
    pregnant child kids son daughter brother sister house flat home live living moved relocated
    吃 荤 婚 离异 分居 单身 领证 烟 酒 工作 失业 待业 入职 上班 任职 就职 跳槽 员工 职员 出生 生了
    怀孕 孩 儿 女 丁克 独 哥 姐 弟 妹 房 住 家在 搬""".split()  # noqa: SIM905
"""Without any of these a text names no state; to look for them costs a microsecond."""
_WIDE = re.compile(
    r"\b(?:germany|france|italy|spain|portugal|austria|switzerland|poland|norway|sweden|denmark"
    r"|finland"
    r"|iceland|ireland|england|scotland|wales|britain|netherlands|holland|belgium|greece|turkey"
    r"|russia"
    r"|ukraine|china|japan|korea|india|thailand|vietnam|canada|america|usa|mexico|brazil|argentina"
    r"|chile"
    r"|australia|egypt|kenya|morocco|europe|asia|africa|bavaria|california|texas|florida)\b"
    r"|[中美英法德日韩]国|日本|意大利|西班牙|加拿大|澳大利亚|.{1,3}[省区]$|广东|浙江|江苏|四川"
    r"|云南|山东|湖南|湖北|河南|河北|福建"
)
"""Countries and the like: who lives in one also lives in a town of it."""
_TOWN = re.compile(
    r"^(?:北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|长沙|郑州|青岛|厦门|福州"
    r"|济南|大连|沈阳|合肥|南昌|昆明|贵阳|海口"
    r"|家里|国外|外地|本地|老家|公司|学校|外面)"
)
"""Places of work that are no firm."""


class Stated(NamedTuple):
    """What a statement tells of states.

    Attributes:
        claim: the statement.
        whom: it is about, `ended.who`.
        states: per sort, by its place in `SORTS`, the state.
    """

    claim: Claim
    whom: frozenset[str]
    states: dict[int, int]


def read(claim: Claim) -> Stated | None:
    """What a statement tells of states; None where it holds no word for any, as most do."""
    if not any(map(claim.folded.__contains__, _WORDS)) or HEDGED.search(claim.folded):
        return None
    states = ((i, _state(sort, claim)) for i, sort in enumerate(SORTS))
    return Stated(claim, who(claim), {i: state for i, state in states if state is not None})


def stand_of(older: Stated, newer: Stated, *, is_near: bool) -> Stand:
    """How the newer of two statements stands to the older by the states that they name.

    Args:
        older, newer: in order of saying.
        is_near: whether they are near enough for what they name to be places or firms.

    Returns:
        UPDATE, CONTRADICTION, or APART where the catalogue says nothing.
    """
    text, is_mine = newer.claim.folded, older.whom == newer.whom == {"i"}
    for place in older.states.keys() & newer.states.keys():
        sort = SORTS[place]
        if older.states[place] == newer.states[place] or not (
            is_mine or _is_of_kin(place, older, newer)
        ):
            continue
        turned = TURNS.search(text) if not sort.is_of_kin else None
        is_turn = turned or (sort.turns and sort.turns.search(text))
        return Stand.UPDATE if is_turn else Stand.CONTRADICTION
    if older.whom != newer.whom or not is_near:
        return Stand.APART
    one, other = older.claim, newer.claim
    if _differ(_HOMES, one, _MOVES, other) or _differ(_EMPLOYERS, one, _HIRED, other):
        return Stand.UPDATE
    is_other_firm = _differ(_EMPLOYERS, one, _EMPLOYED, other)
    return Stand.CONTRADICTION if is_other_firm else Stand.APART


def _is_of_kin(place: int, *pair: Stated) -> bool:
    """Whether kin tell of a state that the speaker denies: "I have no children", "my son"."""
    return SORTS[place].is_of_kin and any(
        one.whom == {"i"} and one.states[place] == 0 for one in pair
    )


def _state(sort: Sort, claim: Claim) -> int | None:
    """Which state of a sort a statement names."""
    return next((i for i, state in enumerate(sort.states) if state.search(claim.folded)), None)


def _differ(
    states: Patterns,
    older: Claim,
    turns: tuple[re.Pattern[str], ...],
    newer: Claim,
) -> bool:
    """Whether both statements name a place or firm, and not one within the other."""
    one, other = _name(states, older), _name(turns, newer)
    if not one or not other or one in other or other in one:
        return False
    is_town = states is _EMPLOYERS and (_TOWN.search(one) or _TOWN.search(other))
    return not is_town and bool(_WIDE.search(one)) == bool(_WIDE.search(other))


def _name(patterns: Patterns, claim: Claim) -> str:
    """The name that a statement gives, in lower case, "" where it gives none."""
    found = next((m for pattern in patterns if (m := pattern.search(claim.text))), None)
    return next(filter(None, found.groups()), "").lower() if found else ""
