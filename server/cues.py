"""Words that say how one statement stands to an earlier one: general knowledge, zh and en.

Catalogues and nothing else; `claims` reads them. They name no test sentence and no data set. They
are in lower case, for texts in lower case: to look for either costs twice as much.
"""

from __future__ import annotations

import re

ENDING = re.compile(
    r"\b(?:no longer|any ?more|any longer|stopped|quit|gave up|given up|cancel(?:l?ed)?|got rid of"
    r"|sold|stepped down|resigned|returned it|sent it back|is gone|are gone|used to|discontinued"
    r"|dropped|retired|unsubscribed|threw (?:out|away)|broke up|dismantled|revoked)\b"
    r"|不再|再也不|已经不|已不|早就不|停用|弃用|停掉|戒了|戒掉|戒烟|戒酒|退货|退掉|退了|取消|停止"
    r"|放弃|离职|辞职|卖了|卖掉"
    r"|扔了|扔掉|作废|注销|分手|不[^，。；,.;]{1,6}了|没[^，。；,.;]{0,3}再",
)
"""Something that was so has ended."""

CALLED_OFF = re.compile(
    r"\b(?:called off|scrapped|abandoned|let \S+(?: \S+)? go|dropped out)\b|送人|退订|戒"
)
"""Something will not be, or is over, in words that also stand for other things."""

CHANGING = re.compile(
    r"\b(?:switch(?:ed|ing)?|moved|chang(?:ed|ing)|replac(?:ed?|ing|ement)|instead(?: of)?|pushed"
    r"|postponed|rescheduled|went (?:up|down)|upgraded|downgraded|migrated|renamed|relocated"
    r"|took over|from now on|these days|nowadays|as of|now|rather than|started (?:at|with)"
    r"|new (?:number|phone|address|home|flat|job|code|password|name|plan|time|date|place))\b"
    r"|改(?!善|进|天|日|装|编)|换成|换到|换了|更换|补办|重办|搬到|搬家|搬去|搬进|迁到|转到|转为"
    r"|转成|转学|现在|如今"
    r"|目前|以后|从今|涨到|涨了|降到|升到|变成|变为|变更|调到|调整|推迟|延期|提前到|代替|取代|新的",
)
"""Something is otherwise than it was."""

CORRECTING = re.compile(
    r"\b(?:actually|correction|i meant|my mistake|was wrong|were wrong|mistaken|in fact|not true)\b"
    r"|更正|纠正|说错|记错|搞错|弄错|其实|不对",
)
"""What was said before was wrong."""

NEGATING = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|nobody|nothing)\b|(?<=\bcan)not\b|n['’]t\b"
    r"|不(?!过(?!敏(?!感))|仅|但|错|同|久|断|管|论|然)|没(?!准)|无(?!线|锡|论)"
    r"|(?<![特区分级性个类差])别(?!人|的|墅)|未(?!来)|禁止|勿|莫",
)
"""The statement denies."""

OPPOSING = re.compile(
    r"\b(?:hate|hates|dislike|detest|can't stand|refuse|avoid|forbidden|banned|prohibited|off)\b"
    r"|讨厌|反感|拒绝|受不了|禁止|不准|避免",
)
"""The statement denies without a negation."""

ABSOLUTE = re.compile(
    r"\b(?:always|never|every|everywhere|everything|all|only|must|at most|at least|up to|each time"
    r"|can't stand|whatever|no matter|as \w+ as possible|hate|love)\b"
    r"|一律|从来|从不|一直|全部|全都|所有|都|只|必须|每[次天晚]|最多|最少|至少|以内|以上|不准|禁止"
    r"|尽量|越|最讨厌|特别",
)
"""The statement leaves no room for another one beside it."""

VALUES: tuple[tuple[str, ...], ...] = (
    (r"\b(?:xs|s|m|l|xl|xxl)\b|[XSML]\s*码|中码|大码|小码",),
    ("dark", "light|bright"),
    ("深色|暗色", "浅色|亮色"),
    ("older", "younger"),
    ("open|开窗|打开", "clos|shut|关窗|关闭|关掉"),
    (r"\bon\b", r"\boff\b"),
    ("short|brief|concise|terse|简短|简洁|精简", "detail|long|thorough|in full|详细|详尽|长篇"),
    ("window", "aisle"),
    ("靠窗", "过道"),
    ("allow|permit|允许|可以", "forbid|prohibit|ban|禁止|不可以|不能|不准"),
    ("vegetarian|vegan|素食|吃素", "meat|steak|beef|pork|chicken|吃肉|牛排"),
    (r"\btabs?\b|制表符", r"\bspaces?\b|空格"),
    ("phone|call", "mail|email"),
    ("电话", "邮件|短信"),
    ("hot|热水|热饮", r"\biced?\b|\bcold\b|冰水|冷饮"),
    ("home|在家|家里有人", "office|在公司|上班|家里没人"),
    ("cash", "card"),
    ("高铁|火车", "飞机"),
    ("train", "plane|fly"),
    ("like|love|enjoy|喜欢|爱吃", "hate|dislike|can't stand|讨厌|受不了"),
    ("everyone|aloud|loud|热闹", "quiet|silent|安静"),
)
"""Closed classes: each text of a group excludes the other groups of its row as the same value."""

# Looking for one word after the other takes a tenth of the time of one expression of all of them.
_CHOICES = tuple(
    choice for row in VALUES for group in row for choice in re.split(r"\|(?![^(]*\))", group)
)
_PLAIN = re.compile(r"[\w ']+")
PLAIN_VALUES = tuple(filter(_PLAIN.fullmatch, _CHOICES))
OTHER_VALUES = re.compile("|".join(c for c in _CHOICES if not _PLAIN.fullmatch(c)))
"""Together they find what any group of `VALUES` finds: words, and what is more than a word."""

CONDITIONS: tuple[str, ...] = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|周[一二三四五六日天末]"
    r"|星期[一二三四五六日天]",
    r"\b(?:spring|summer|autumn|winter)\b|春|夏|秋|冬",
    r"\bmornings?\b|\bafternoons?\b|\bevenings?\b|\bnights?\b|早上|上午|中午|下午|晚上|夜里",
    r"\bat home\b|\bon flights?\b|\bat work\b|在家|出差|公司",
)
"""Circumstances: statements about different ones stand beside each other."""

KIN = re.compile(
    r"\b(?:my|our|his|her) (\w+)|([爸妈爷奶父母妻夫儿女哥弟姐妹老][爸妈爷奶亲婆公子儿女友弟]?)"
    r"|([甲乙丙小老][\u4e00-\u9fff])",
)
"""Whom a statement is about, when it is not the speaker."""
