"""Secrets and addresses: API keys, private keys, passwords, e-mail.

What is known by its form (prefixes of issuers, PEM blocks, JSON web tokens) is found anywhere. What
is not is found beside a word that names it: an assignment whose value is as random as a key, or a
sentence that tells a password. It looks at folded text (`sensitive_text.py`).

Source: the issuers' documentation of their prefixes; RFC 7468 (PEM), RFC 7519 (JWT), RFC 5322
(addresses, the part in use), RFC 3986 (credentials in a URL).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum

from recalld.server.sensitive_class import Finding, SensitiveClass

ENTROPY_MIN = 3.0
"""Bits a character, of a value that is called a key: words and names have less."""
PASSWORD_LENGTH_MIN = 4
BARE_KEY_LENGTH_MIN = 20
"""The word `key` alone names many things; its value has to look like a key by itself."""

_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_.-]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|AIza[A-Za-z0-9_-]{35}"
    r"|ya29\.[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|hf_[A-Za-z0-9]{30,}|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"
    r"|LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{24,40}|dop_v1_[0-9a-f]{64}"
    r"|shp(?:at|ss|pa|ca)_[0-9A-Fa-f]{32}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{40,}"
    r"|(?:[Bb]earer|BEARER) +(?P<bearer>[A-Za-z0-9._~+/=-]{16,})"
    r"|(?:[Bb]asic|BASIC) +(?P<basic>[A-Za-z0-9+/]{16,}={0,2})(?![A-Za-z0-9])"
    r")"
)
_PEM = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:.*?-----END (?P=kind)-----|.*\Z)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"(?<![A-Za-z])(?P<name>(?:[a-z0-9]{1,32}[_.-]){0,4}(?:api[ _-]?keys?|access[ _-]?keys?"
    r"(?:[ _-]?(?:id|secret))?|(?:client|app|shared)?[ _-]?secret(?:[ _-]?(?:access)?[ _-]?key)?"
    r"|(?:auth|access|refresh|bot|session|api)?[ _-]?token|private[ _-]?key|signing[ _-]?key"
    r"|credentials?|key)|密钥|秘钥|令牌|私钥)(?:[\"']?\]?) {0,2}(?:=>|:=|=|:|是|为|is\b|are\b)"
    r" {0,2}[\"'`]?(?P<value>[A-Za-z0-9+/_.=~-]{12,512})",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_URL_PASSWORD = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,64}:(?P<value>[^\s/@]{1,128})@"
)
_KEY_WORDS = ("key", "token", "secret", "credential", "密钥", "秘钥", "令牌", "私钥")
_PASSWORD_WORDS = ("pass", "pw", "pin", "otp", "code", "密", "口令", "码", "碼", "暗号")
"""Where none of them is, the dear patterns need not be tried."""
_QUOTED = r"[\"'“”‘’「『`](?P<quoted>[^\"'“”‘’「」『』`\n]{1,64})[\"'“”‘’」』`]"
_TOKEN = r"(?P<token>[!-~]{4,})"
_ENGLISH_WORD = (
    r"(?<![A-Za-z])(?:[a-z0-9]{1,32}[_-]){0,4}(?P<word>pass ?words?|passcode|passphrase|passwd"
    r"|pwd|pin(?: code| number)?|verification code|one[- ]time (?:code|password)|otp)"
    r"(?![A-Za-z])[\"']?"
)
_ENGLISH = re.compile(
    rf"{_ENGLISH_WORD}(?:[ ]{{1,3}}(?:for|of|to|on|in|at)(?:[ ]{{1,3}}[\w'./@:+-]+){{1,5}}?)?"
    r"(?:[ ]{1,3}(?:is now|is still|is|was|are|has been (?:set|changed|reset) to|equals)"
    r"(?: set to)?[ ]{0,3}:?[ ]{1,3}"
    r"|[ ]{0,3}(?:=>|:=|=|:|->)[ ]{0,3})"
    rf"(?:{_QUOTED}|{_TOKEN})",
    re.IGNORECASE,
)
_ENGLISH_TO = re.compile(
    rf"{_ENGLISH_WORD}[ ]{{1,3}}(?:to|as|with)[ ]{{1,3}}(?:{_QUOTED}|{_TOKEN})", re.IGNORECASE
)
_ENGLISH_BARE = re.compile(rf"{_ENGLISH_WORD}[ ]{{1,3}}{_TOKEN}", re.IGNORECASE)
_ENGLISH_AFTER = re.compile(
    r"(?<![!-~])[\"'`]?(?P<token>[!-~]{4,64}?)[\"'`]?[ ]{1,3}(?:is|as)[ ]{1,3}"
    r"(?:my|our|the|his|her|their)[ ]{1,3}(?:[A-Za-z'-]+[ ]{1,3}){0,3}?"
    r"(?:password|passcode|passphrase|pin)(?![A-Za-z])",
    re.IGNORECASE,
)
_SHORT = re.compile(rf"(?<![A-Za-z])(?:pass|pw)[ ]{{0,3}}[:=][ ]{{0,3}}{_TOKEN}", re.IGNORECASE)
_CHINESE_WORD = (
    r"(?:密码|密碼|口令|[验驗][证證][码碼]|[动動][态態][码碼]|校验码|pin ?码|解锁码|暗号)"
    r"(?!管理|本|学|锁|保护|重置|找回|强度|长度|规则|策略|要求|提示|箱|机|错误|有效|过期|修改时间)"
)
_CHINESE = re.compile(
    rf"{_CHINESE_WORD}[^\s。，,；;！!？?\n]{{0,12}}?[ ]{{0,2}}"
    rf"(?:就?是|为|用的?|改成了?|改为了?|设成了?|设为了?|设置为|换成了?|变成了?|[:=])[ ]{{0,3}}"
    rf"(?:{_QUOTED}|{_TOKEN})",
    re.IGNORECASE,
)
_CHINESE_BARE = re.compile(rf"{_CHINESE_WORD}[ ]{{0,3}}(?![:=]){_TOKEN}", re.IGNORECASE)
_CHINESE_AFTER = re.compile(
    r"(?P<token>[!-~]{4,64})[ ]?(?:就?是|作为|当|做)[^\s。，,；;！!？?\n]{0,10}(?:密码|密碼|口令)"
    r"(?!管理|本|学|锁|保护)",
    re.IGNORECASE,
)
_RULE = re.compile(r" ?(?:位|个字符|字符|个数字|加密|算法|哈希|开头|结尾|天|分钟|小时|年|月)")
_CODE_WORD = re.compile(r"pin|veri|one|otp", re.IGNORECASE)
_CODE = re.compile(r"\d[\d-]{2,8}\d")
_SYMBOL = re.compile(r"[^A-Za-z0-9_'/.,-]")
_TRAILING = ".,;:!?)]}>\"'`*"
_NO_SECRET = re.compile(
    r"\[[a-z_]+(?::[0-9a-f]{12})?\]?|<.*>?|\{.*|\$(?:\{.*|[A-Z_]+)|%\w+%|[*x•.#_-]+|https?:.*"
    r"|(?:sha|md|aes)[-_]?\d{1,3}(?:[-_].*)?|bcrypt.*|argon2?.{0,3}|pbkdf2"
    r"|\d+(?:-\d+)?[- ]?(?:day|digit|char|character|letter|word|minute|hour|month)s?"
    r"|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|none|null|true|false|undefined|required|optional",
    re.IGNORECASE,
)
_PLAIN_WORD = re.compile(r"[A-Za-z]+(?:['/-][A-Za-z]+)*")
_NO_PASSWORD_WORD = re.compile(
    r".*(?:ed|ing|able|ible|less|ful|ous|ant|ent|ive|ary)|(?:my|the|a|an|in|on|not|now|too|very|only|also"
    r"|wrong|weak|strong|secure|unknown|hidden|safe|secret|correct|incorrect|invalid|valid|short|long"
    r"|simple|hard|easy|same|old|new|gone|lost|fine|okay|good|bad|unique|random|null|empty|here|there"
    r"|below|above|private|public|case-sensitive|default|temporary|stale|mine|yours|this|that|which"
    r"|what|known|given|written|chosen|broken|stolen|taken|set|reset|kept|sent|held|due|up|out|off)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!]?(?:[\"')]|\s|[,;。，]|\Z)")


class Takes(Enum):
    """What a sentence takes for a password, by how sure it is that it tells one."""

    MIXED = "letters with digits"
    DIGITS = "also digits alone"
    WORDS = "also words, at its end"


_SENTENCES = (
    (_ENGLISH, Takes.WORDS),
    (_ENGLISH_TO, Takes.DIGITS),
    (_ENGLISH_BARE, Takes.MIXED),
    (_ENGLISH_AFTER, Takes.MIXED),
    (_SHORT, Takes.MIXED),
    (_CHINESE, Takes.WORDS),
    (_CHINESE_BARE, Takes.DIGITS),
    (_CHINESE_AFTER, Takes.MIXED),
)

_LOCAL = r"[A-Za-z0-9](?:[A-Za-z0-9._%+-]{0,63})"
_EMAIL = re.compile(
    rf"(?<![A-Za-z0-9])(?P<local>{_LOCAL})(?P<at>@| ?[(\[{{] ?at ?[)\]}}] ?| @ )"
    r"(?P<domain>(?:[A-Za-z0-9-]{1,63}(?:\.| ?[(\[{] ?dot ?[)\]}] ?| dot )){1,5})"
    r"(?P<top>[A-Za-z]{2,24})(?![A-Za-z0-9@])",
    re.IGNORECASE,
)
_COMMON_TOP = re.compile(
    r"com|cn|net|org|io|edu|gov|co|me|dev|app|ai|uk|de|fr|jp|kr|hk|tw|sg|au|ca|info|biz|xyz|top",
    re.IGNORECASE,
)


def find_secrets(text: str) -> Iterator[Finding]:
    """Findings in a folded text, in no order; they may overlap."""
    for found in _KEY.finditer(text):
        part = found.lastgroup or 0
        if any(letter.isdigit() for letter in found[part]):
            yield Finding(*found.span(part), SensitiveClass.API_KEY)
    if "PRIVATE KEY" in text:
        for found in _PEM.finditer(text):
            yield Finding(*found.span(), SensitiveClass.API_KEY)
    lowered = text.lower()
    if any(word in lowered for word in _KEY_WORDS):
        for found in _NAMED.finditer(text):
            if is_random(found["value"], is_bare=found["name"].lower() == "key"):
                yield Finding(*found.span("value"), SensitiveClass.API_KEY)
    if "://" in text:
        for found in _URL_PASSWORD.finditer(text):
            if not _NO_SECRET.fullmatch(found["value"]):
                yield Finding(*found.span("value"), SensitiveClass.PASSWORD)
    if any(word in lowered for word in _PASSWORD_WORDS):
        yield from _passwords(text)


def find_addresses(text: str) -> Iterator[Finding]:
    """E-mail addresses in a folded text."""
    for found in _EMAIL.finditer(text):
        labels = re.split(r"[^A-Za-z0-9-]+", found["domain"].strip())
        is_spelled = found["at"] != "@" or not re.fullmatch(r"[A-Za-z0-9.-]+", found["domain"])
        if is_spelled and not _COMMON_TOP.fullmatch(found["top"]):
            continue
        if found["local"] == "git" and text[found.end() : found.end() + 1] in (":", "/"):
            continue
        # `package@1.2.beta` is a version; only a whole domain such as 163.com is a number.
        if len(labels) > 2 and labels[-2].isdigit():
            continue
        yield Finding(*found.span(), SensitiveClass.EMAIL)


def is_random(value: str, *, is_bare: bool) -> bool:
    """Whether a value that something calls a key looks like one: digits, letters, no pattern.

    Args:
        value: the value.
        is_bare: it is called nothing but `key`, which is said of many things.
    """
    value = value.rstrip(".=")
    if not any(c.isdigit() for c in value) or not any(c.isalpha() for c in value):
        return False
    if is_bare:
        is_mixed = any(c.islower() for c in value) and any(c.isupper() for c in value)
        if not is_mixed or len(value) < BARE_KEY_LENGTH_MIN or _UUID.fullmatch(value):
            return False
    counts = Counter(value).values()
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return entropy >= ENTROPY_MIN


def _passwords(text: str) -> Iterator[Finding]:
    """Passwords that a sentence tells."""
    for pattern, takes in _SENTENCES:
        for found in pattern.finditer(text):
            span = _told(text, found, takes)
            if span is not None:
                yield Finding(*span, SensitiveClass.PASSWORD)


def _told(text: str, found: re.Match[str], takes: Takes) -> tuple[int, int] | None:
    """Where the password of a sentence is, if the sentence tells one.

    Args:
        text: the whole text.
        found: the sentence, with its quoted text or its token.
        takes: what the sentence takes for a password.
    """
    groups = found.groupdict()
    quoted = groups.get("quoted")
    if quoted is not None:
        is_told = len(quoted.strip()) > 1 and not _NO_SECRET.fullmatch(quoted)
        return found.span("quoted") if is_told else None
    token = found["token"].lstrip("\"'`(")
    start = found.end("token") - len(token)
    token = token.rstrip(_TRAILING) or token
    end = start + len(token)
    if len(token) < PASSWORD_LENGTH_MIN or _NO_SECRET.fullmatch(token) or _RULE.match(text, end):
        return None
    if _CODE_WORD.match(groups.get("word") or ""):
        is_told = bool(_CODE.fullmatch(token))
    elif _PLAIN_WORD.fullmatch(token):
        is_mixed = not token.islower() and not token.istitle() and not token.isupper()
        is_last = bool(_SENTENCE_END.match(text, end))
        is_known = bool(_NO_PASSWORD_WORD.fullmatch(token))
        is_told = takes is Takes.WORDS and is_last and (is_mixed or not is_known)
    elif any(c.isdigit() for c in token):
        is_told = takes is not Takes.MIXED or any(c.isalpha() for c in token)
    else:
        is_told = takes is Takes.WORDS and bool(_SYMBOL.search(token))
    return (start, end) if is_told else None
