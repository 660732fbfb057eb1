"""Random values of every sensitive class, spelled as people spell them.

Checksums are computed here by other means than the server's, from the standards' own formulas.
Telephone numbers and cards are random: they belong to nobody on purpose.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

ALPHANUMERIC = string.ascii_letters + string.digits
FULL_WIDTH = str.maketrans(string.digits, "０１２３４５６７８９")

Maker = Callable[[random.Random], str]


def digits(rng: random.Random, count: int) -> str:
    """Random digits."""
    return "".join(rng.choices(string.digits, k=count))


def tokens(rng: random.Random, alphabet: str, count: int) -> str:
    """Random letters of an alphabet, a digit and a letter among them."""
    made = "".join(rng.choices(alphabet, k=count - 2))
    return made[: count // 2] + rng.choice(string.digits) + made[count // 2 :] + "k"


def day(rng: random.Random) -> date:
    """A day of birth."""
    return date(1945, 1, 1) + timedelta(days=rng.randrange(365 * 70))


def resident_id(rng: random.Random) -> str:
    """A resident id: its check character makes the sum of digit x 2^(17-i) be 1 modulo 11."""
    area = rng.choice(["110105", "310104", "440305", "510107", "330106", "610113", "650102"])
    body = area + day(rng).strftime("%Y%m%d") + digits(rng, 3)
    rest = sum(int(d) * pow(2, 17 - i) for i, d in enumerate(body)) % 11
    check = (1 - rest) % 11
    return body + ("X" if check == 10 else str(check))


def luhn_complete(body: str) -> str:
    """A number with the last digit that makes its Luhn sum end in 0, tried out."""
    doubled = {str(d): sum(divmod(2 * d, 10)) for d in range(10)}
    for last in string.digits:
        whole = body + last
        total = sum(int(d) for d in whole[-1::-2]) + sum(doubled[d] for d in whole[-2::-2])
        if total % 10 == 0:
            return whole
    raise AssertionError("one of ten digits always fits")


def bank_card(rng: random.Random) -> str:
    """A card number of one of the large issuers."""
    head, length = rng.choice(
        [("622202", 19), ("621700", 19), ("622588", 16), ("4", 16), ("52", 16), ("2315", 16),
         ("37", 15), ("3566", 16), ("6011", 16)]
    )  # fmt: skip
    return luhn_complete(head + digits(rng, length - len(head) - 1))


def mobile(rng: random.Random) -> str:
    """A mobile number of mainland China."""
    return rng.choice(["13", "15", "16", "17", "18", "19"]) + digits(rng, 9)


def landline(rng: random.Random) -> str:
    """A landline number of mainland China, written with its area."""
    area, length = rng.choice(
        [("010", 8), ("021", 8), ("0755", 8), ("028", 8), ("0371", 8), ("0576", 8)]
    )
    number = rng.choice("234568") + digits(rng, length - 1)
    return rng.choice(
        [f"{area}-{number}", f"({area}){number}", f"{area} {number[:4]} {number[4:]}"]
    )


def international(rng: random.Random) -> str:
    """A number of another country in its international form."""
    pick = rng.choice
    number = pick(["2", "3", "4", "6", "7", "8"]) + digits(rng, 2)
    return pick(
        [
            f"+1 {pick(['212', '415', '312', '617', '206'])} {number} {digits(rng, 4)}",
            f"+1 ({pick(['212', '415', '312'])}) {number}-{digits(rng, 4)}",
            f"+1{pick(['212', '415', '312'])}{number}{digits(rng, 4)}",
            f"+44 7{pick(['400', '700', '911'])} {digits(rng, 6)}",
            f"+49 151 {pick('12345')}{digits(rng, 7)}",
            f"+81 90-{pick('123456')}{digits(rng, 3)}-{digits(rng, 4)}",
            f"+852 {pick('69')}{digits(rng, 3)} {digits(rng, 4)}",
            f"+65 9{pick('0123')}{digits(rng, 2)} {digits(rng, 4)}",
            f"+351 91{digits(rng, 1)} {digits(rng, 3)} {digits(rng, 3)}",
        ]
    )


def email(rng: random.Random) -> str:
    """An e-mail address."""
    name = rng.choice(
        ["li.wei", "maria", "j.doe", "zhang_san", "dev-team", "ana+shop", digits(rng, 9)]
    )
    host = rng.choice(
        ["163.com", "qq.com", "gmail.com", "example.org", "mail.example.co.uk", "corp.cn"]
    )
    return f"{name}{rng.randrange(100)}@{host}"


def api_key(rng: random.Random) -> str:
    """A key with the form of a known issuer."""
    some = partial(tokens, rng, ALPHANUMERIC)
    upper = partial(tokens, rng, string.ascii_uppercase + string.digits)
    return rng.choice(
        [
            lambda: f"sk-{some(48)}",
            lambda: f"sk-proj-{some(40)}",
            lambda: f"sk-ant-api03-{some(60)}",
            lambda: f"AKIA{upper(16).upper()}",
            lambda: f"ghp_{some(36)}",
            lambda: f"github_pat_{some(60)}",
            lambda: f"glpat-{some(20)}",
            lambda: f"xoxb-{digits(rng, 12)}-{some(24)}",
            lambda: f"AIza{some(35)}",
            lambda: f"hf_{some(34)}",
            lambda: f"sk_live_{some(24)}",
            lambda: f"LTAI{some(20)}",
            lambda: f"eyJhbGciOiJIUzI1NiJ9.eyJ{some(40)}.{some(43)}",
        ]
    )()


def private_key(rng: random.Random) -> str:
    """A private key in PEM."""
    kind = rng.choice(["RSA ", "EC ", "OPENSSH ", ""])
    body = "\n".join(tokens(rng, ALPHANUMERIC + "+/", 64) for _ in range(4))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def password(rng: random.Random) -> str:
    """A password as people and managers make them."""
    word = rng.choice(["sunny", "Dragon", "hunter", "chengdu", "Panda", "qwerty", "Letmein"])
    return rng.choice(
        [
            f"{word}{digits(rng, rng.randint(1, 4))}",
            f"{word}@{digits(rng, 4)}",
            f"{word.title()}-{rng.choice(['River', 'Stone'])}-{digits(rng, 2)}",
            tokens(rng, ALPHANUMERIC, rng.randint(8, 16)),
            f"{tokens(rng, ALPHANUMERIC + '!@#$%^&*', 10)}9",
            digits(rng, 6),
        ]
    )


def spelled(rng: random.Random, number: str) -> str:
    """A number as somebody writes it: at once, in groups, in full width, digit by digit."""
    if not number.rstrip("X").isdigit():
        return rng.choice([number, number.translate(FULL_WIDTH)])
    shape = {11: (3, 4, 4), 18: (6, 8, 4), 19: (4, 4, 4, 4, 3), 15: (4, 6, 5)}.get(
        len(number), (4, 4, 4, 4)
    )
    groups, start = [], 0
    for size in shape:
        groups.append(number[start : start + size])
        start += size
    return rng.choice(
        [
            number,
            number,
            " ".join(groups),
            "-".join(groups),
            number.translate(FULL_WIDTH),
            " ".join(groups).translate(FULL_WIDTH),
            " ".join(number),
            "\u200b".join(groups),
        ]
    )


MAKERS: dict[str, list[Maker]] = {
    "resident_id": [lambda rng: spelled(rng, resident_id(rng))],
    "bank_card": [lambda rng: spelled(rng, bank_card(rng))],
    "phone": [
        lambda rng: spelled(rng, mobile(rng)),
        lambda rng: f"+86 {spelled(rng, mobile(rng))}",
        lambda rng: f"86{mobile(rng)}",
        landline,
        international,
    ],
    "email": [email, lambda rng: email(rng).replace("@", "＠")],
    "api_key": [api_key, api_key, api_key, private_key],
    "password": [password],
}
