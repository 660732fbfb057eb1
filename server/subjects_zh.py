"""What Chinese statements are about: numbered things, people and kin before the verb.

Pure; by characters alone, without a dictionary. A number is a label where a word for a numbered
thing follows ("12号房间", "三楼", "第二章") or a noun precedes it ("工单881"), and no verb or
preposition stands before: "我住在三楼" says where. Numbers after a measure ("体重72", "预算500") or
before a unit ("3点", "5个") are values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LEAD_CHARS_MAX = 8
"""Characters that may stand before a label."""

_DIGIT = "0-9〇零一二两三四五六七八九十百"
_DIGITS = str.maketrans("〇零一二两三四五六七八九", "001223456789")
_VERBS = re.compile(
    r"[了写在是有到从共约花给才只就已每于住搬乘去换放还剩养吃喝降涨]"
    r"|(?<!使)用(?!户)|(?<!研)为|过(?!道)|来(?!宾|访)|坐(?!垫|席)|停(?!车)|存(?!货)|选(?!手)"
    r"|跑(?!道|步机)"
    r"|读(?!者|书)|定(?!金)|订(?!单)|买(?!家|方)|卖(?!家|方|场)|租(?!客|户|金)|收(?!据|银)|寄(?!件)"
)
"""A verb or preposition: what follows is said, not spoken of."""
_NUMBERED = re.compile(
    rf"第?(?P<number>[{_DIGIT}]+)(?P<sort>号(?=[楼房客病教仓库厅桌床车机门窗柜箱井线站台院店馆泊位会服摊岗泳包展货球员生])."
    r"|楼|层|班(?!车|次)|室|单元|栋|幢|座|路(?=公交|车)|车间|小?组|床|排|期|区|分店|中队"
    r"|(?<=第.)(?:章|节|页|课|条))"
)
_CODED = re.compile(
    r"(?P<noun>[\u3400-\u9fff]{2,8}?)(?:编号|号码|号)?\s*#?"
    r"(?P<number>[A-Za-z]*-?\d[A-Za-z0-9-]*)(?P<after>\s*[\u3400-\u9fff%:.]?)"
)
_MEASURES = re.compile(
    r"(?:预算|价格|价钱|体重|身高|工资|月薪|年薪|收入|电话|手机|尾号|密码|年龄|房租|租金|血压|心率"
    r"|体温|温度|湿度|余额|总价|金额|费用"
    r"|面积|长度|宽度|高度|深度|尺寸|尺码|鞋码|版本|人数|数量|时间|日期|分数|成绩|排名|速度|剩余"
    r"|今年|大约|共计|总共)$"
)
_UNITS = ":.元块万千百公斤克点岁个天日月年小分秒米厘毫页人度位名件次口只条张本台套届%"
_IDENTITY = re.compile(
    r"是(?:我|我们|咱们?)"
    r"|是.{0,6}(?:负责人|老板|经理|组长|队长|班长|主任|主席|会长|店长|校长|房东)[。!！]?$"
)
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛"
    "闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤"
)
_SORTS = (
    "客户|顾客|用户|会员|患者|病人|学生|学员|同学|同事|员工"
    "|供应商|租客|房客|房东|司机|朋友|邻居|室友|队友"
)
_TITLES = "先生|女士|小姐|老师|医生|护士|律师|教练|经理|师傅|阿姨|叔叔|教授|主任|同学|总"
_NICKNAME = (
    r"阿(?![姨公婆拉里富根迪])[\u3400-\u9fff]"
    r"|小(?!区|组|学|孩|时|吃|说|心|车|型|票|米|麦|费|路|猫|狗|鸟|朋|姐|伙|镇|城|店"
    r"|雨天)[\u3400-\u9fff]"
    rf"|老[{_SURNAMES}]"
)
_NAMED = re.compile(
    rf"(?:我的?|我们的?|[那这]位)?"
    rf"(?:(?P<titled>阿[\u3400-\u9fff]|[{_SURNAMES}][\u3400-\u9fff]{{0,2}}?)(?P<title>{_TITLES})"
    rf"|(?P<sort>{_SORTS})?(?P<nick>{_NICKNAME})"
    rf"|(?P<kind>{_SORTS})(?P<name>[{_SURNAMES}][\u3400-\u9fff]))"
)
_KIN = re.compile(
    r"(?:我的?|我们的?|我家)?(?P<kin>爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|外公|外婆|老公|老婆|丈夫|妻子"
    r"|儿子|女儿"
    r"|哥哥?|弟(?!媳)弟?|姐(?!夫)姐?|妹(?!夫)妹?|表[哥弟姐妹]|侄[子女])(?!的)"
)
_SAME_KIN = {"父亲": "爸", "母亲": "妈", "丈夫": "老公", "妻子": "老婆"}
_DOUBLED = re.compile(r"(.)\1")
_PLACED = re.compile(
    r"(?P<place>(?![我你他她咱们的是在])[\u3400-\u9fff]{2,3}?)"
    r"(?P<sort>分公司|办事处|仓库|分店|校区|(?<![网饭酒商书药])店|(?<!工)厂|分行)(?=.)"
)
_EMAIL = re.compile(r"[A-Za-z0-9_.+-]+@[A-Za-z0-9_.-]+[A-Za-z0-9]")


class Subject(NamedTuple):
    """What a statement is about.

    Attributes:
        sort: of thing, "" where none is said.
        labels: per sort of thing, the numbers and signs of those that it is about.
        names: of the thing.
        is_identity: whether it goes on with what only one can be, as in "Ann is my boss": then the
            name is what is said.
    """

    sort: str = ""
    labels: dict[str, frozenset[str]] = {}  # noqa: RUF012
    names: frozenset[str] = frozenset()
    is_identity: bool = False


def subject_of(text: str) -> Subject:
    """What a statement is about, by what it begins with.

    Args:
        text: NFKC, stripped.
    """
    labels: dict[str, frozenset[str]] = {}
    for sort, sign in _labels(text):
        labels[sort] = labels.get(sort, frozenset()) | {sign}
    sort, names = _named(text)
    return Subject(sort, labels, names, bool(_IDENTITY.search(text)))


def _labels(text: str) -> Iterator[tuple[str, str]]:
    """Sorts of things that a text begins with, and the numbers or signs they bear."""
    for found in _NUMBERED.finditer(text):
        if _leads(text, found.start("number")) and found.end() < len(text):
            yield found["sort"], found["number"].translate(_DIGITS)
    for found in _CODED.finditer(text):
        noun, after = found["noun"], found["after"].strip()
        is_value = bool(_MEASURES.search(noun)) or (after and after in _UNITS)
        if _leads(text, found.start("number")) and not is_value and found.end() < len(text):
            yield noun[-2:], found["number"]
    if address := _EMAIL.match(text):
        yield "@", address[0]
    if placed := _PLACED.match(text):
        yield placed["sort"], placed["place"]


def _leads(text: str, place: int) -> bool:
    """Whether nothing but nouns stands before a place."""
    return place <= LEAD_CHARS_MAX and not _VERBS.search(text[:place])


def _named(text: str) -> tuple[str, frozenset[str]]:
    """The sort of person that a text begins with, and the name; "" and none where there is none."""
    if kin := _KIN.match(text):
        of_kin = _SAME_KIN.get(kin["kin"], kin["kin"])
        return "kin", frozenset({_DOUBLED.sub(r"\1", of_kin)})
    if not (found := _NAMED.match(text)):
        return "", frozenset()
    sort = found["title"] or found["sort"] or found["kind"] or ""
    return sort, frozenset({found["titled"] or found["nick"] or found["name"]})
