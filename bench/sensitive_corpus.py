"""Sentences with sensitive data and sentences with ordinary numbers, made from a seed.

The values are those of `sensitive_values.py`; values and sentences know nothing of the filter.
"""

from __future__ import annotations

import json
import random
import string
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from recalld.bench.sensitive_values import MAKERS, Maker, digits, luhn_complete, mobile, tokens

LANGUAGES = ("zh", "en")
SENTENCES = Path(__file__).resolve().parent / "data" / "sensitive_sentences.jsonl"


@dataclass(frozen=True, slots=True)
class Sample:
    """One sentence.

    Attributes:
        kind: class of the value, or sort of ordinary number.
        text: the sentence.
        value: what is sensitive in it; "" = nothing is.
    """

    kind: str
    text: str
    value: str


def ordinary_order(rng: random.Random) -> str:
    """An order number beside the word that says so."""
    number = rng.choice(
        [digits(rng, rng.randint(10, 19)), f"DD{digits(rng, 8)}-{digits(rng, 4)}", mobile(rng),
         f"{digits(rng, 3)}-{digits(rng, 7)}-{digits(rng, 7)}"]
    )  # fmt: skip
    word = rng.choice(["订单号", "订单 ", "order ", "order number ", "order #", "单号：", "流水号"])
    return f"{word}{number}"


def ordinary_tracking(rng: random.Random) -> str:
    """A parcel's number."""
    mixed = tokens(rng, string.ascii_uppercase + string.digits, 16).upper()
    head, count = rng.choice([("SF", 13), ("YT", 13), ("JD", 11), ("75", 12), ("", 12)])
    number = rng.choice([f"1Z{mixed}", head + digits(rng, count), head + digits(rng, count)])
    frames = ["快递单号{}", "运单 {}", "tracking number {}", "parcel {}", "{}到驿站了"]
    return rng.choice(frames).format(number)


def ordinary_device(rng: random.Random) -> str:
    """The number of a device, Luhn digit included."""
    imei = luhn_complete(rng.choice(["35", "86", "01"]) + digits(rng, 12))
    return rng.choice(["IMEI {}", "设备IMEI：{}", "the phone with IMEI {}", "device {}"]).format(
        imei
    )


def ordinary_number(rng: random.Random) -> str:
    """A number without any word: amount, date, version, address, hash and the like."""
    amount = f"{rng.randrange(1, 10 ** rng.randint(1, 9)):,}"
    clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    when = date(2026, 1, 1) + timedelta(days=rng.randrange(365))
    return rng.choice(
        [
            lambda: f"¥{amount}.00",
            lambda: f"{amount}元",
            lambda: f"${rng.randrange(10**10)}",
            lambda: f"{rng.randrange(10**11)}元",
            lambda: f"{when} {clock}",
            lambda: when.strftime("%Y/%m/%d"),
            lambda: when.strftime("%Y年%m月%d日") + clock,
            lambda: f"{when.isoformat()}T{clock}:00+08:00",
            lambda: when.strftime("%Y%m%d") + clock.replace(":", "") + digits(rng, 2),
            lambda: f"v{rng.randrange(20)}.{rng.randrange(30)}.{rng.randrange(400)}",
            lambda: ".".join(str(rng.randrange(10**size)) for size in (2, 2, 3, 4)),
            lambda: f"{rng.choice(['CA', 'MU', 'CZ', 'BA', 'UA'])}{digits(rng, 4)}",
            lambda: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            lambda: f"{rng.getrandbits(160):040x}",
            lambda: f"{rng.getrandbits(28):07x}",
            lambda: f"sha256:{rng.getrandbits(256):064x}",
            lambda: ".".join(str(rng.randrange(256)) for _ in range(4)),
            lambda: ".".join(str(rng.randrange(100, 256)) for _ in range(3)) + ".17:8080",
            lambda: ":".join(f"{rng.getrandbits(16):x}" for _ in range(8)),
            lambda: f"{rng.uniform(18, 50):.6f}, {rng.uniform(75, 130):.6f}",
            lambda: f"N{rng.uniform(18, 50):.4f}° E{rng.uniform(75, 130):.4f}°",
            lambda: f"{rng.uniform(75, 150):.12f}",
            lambda: str(rng.randrange(1_600_000_000, 1_900_000_000)),
            lambda: str(rng.randrange(1_600_000_000_000, 1_900_000_000_000)),
            lambda: f"978-7-{digits(rng, 3)}-{digits(rng, 5)}-{digits(rng, 1)}",
            lambda: f"京A{digits(rng, 5)}",
            lambda: f"E-{digits(rng, 4)}, room {digits(rng, 3)}",
            lambda: f"400-{digits(rng, 3)}-{digits(rng, 4)}",
            lambda: f"{digits(rng, 6)} {digits(rng, 4)}",
            lambda: f"{rng.randrange(100)}%, {rng.randrange(10**7)} MB",
            lambda: " ".join(digits(rng, 2) for _ in range(rng.randint(3, 7))),
        ]
    )()  # fmt: skip


ORDINARY_MAKERS: dict[str, Maker] = {
    "orders": ordinary_order,
    "parcels": ordinary_tracking,
    "devices": ordinary_device,
    "numbers": ordinary_number,
}


def sentences() -> dict[tuple[str, str], list[str]]:
    """The frames of the sentences by kind and language."""
    frames: dict[tuple[str, str], list[str]] = {}
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        frames.setdefault((row["kind"], row["language"]), []).append(row["text"])
    return frames


def sensitive(seed: int, count: int) -> Iterator[Sample]:
    """`count` sentences of every class, half Chinese, half English."""
    frames = sentences()
    for kind, makers in MAKERS.items():
        rng = random.Random(f"{seed} {kind}")
        for number in range(count):
            value = rng.choice(makers)(rng)
            frame = rng.choice(frames[kind, LANGUAGES[number % 2]])
            yield Sample(kind, frame.format(value), value)


def ordinary(seed: int, count: int) -> Iterator[Sample]:
    """`count` sentences of every sort of ordinary number, half Chinese, half English."""
    frames = sentences()
    words = [text for (kind, _), texts in frames.items() if kind == "words" for text in texts]
    for kind, maker in {**ORDINARY_MAKERS, "words": lambda rng: rng.choice(words)}.items():
        rng = random.Random(f"{seed} {kind}")
        for number in range(count):
            frame = rng.choice(frames["ordinary", LANGUAGES[number % 2]])
            yield Sample(kind, frame.format(maker(rng)), "")
