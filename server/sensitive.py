"""Finds sensitive data in a text: which parts, and of which class.

It knows no policy and changes nothing. It never keeps or logs what it finds.

Invariants: findings do not overlap and come in order; placeholders are never found; the same text
gives the same findings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from recalld.server.sensitive_class import CLASSES, Finding, SensitiveClass
from recalld.server.sensitive_numbers import find_numbers
from recalld.server.sensitive_secrets import find_addresses, find_secrets
from recalld.server.sensitive_text import fold

PLACEHOLDER = re.compile(
    rf"\[(?P<label>{'|'.join(member.label for member in CLASSES)})(?::(?P<tag>[0-9a-f]{{12}}))?\]"
)
"""What stands in a text for what was replaced; with a tag where the original is sealed."""


REPEAT_LENGTH_MIN = 4
"""Shorter values are looked for nowhere else."""
SPREAD_LENGTH_MIN = 6
"""Shorter values are looked for in their own text only: elsewhere a PIN is a number of a house."""


def find(text: str, classes: Collection[SensitiveClass] = CLASSES, name: str = "") -> list[Finding]:
    """Sensitive parts of a text.

    Args:
        text: any text.
        classes: what is looked for; others do not hide what overlaps them.
        name: what the text is the value of, such as `wifi.password`; it tells of the text.

    Returns:
        In order, without overlaps: what overlaps is one, of the class that begins first.

    Complexity: linear in the text.
    """
    if not name:
        return _merged(_found(text, classes))
    prefix = f"{name}: "
    shift = len(prefix)
    found = (
        Finding(max(f.start - shift, 0), f.end - shift, f.sensitive_class)
        for f in _found(prefix + text, classes)
        if f.end > shift
    )
    return _merged(found)


def with_repeats(
    texts: Sequence[str], findings: Sequence[Sequence[Finding]]
) -> list[list[Finding]]:
    """Findings of texts that belong together, with all other places where the same values stand.

    Args:
        texts: texts of one request.
        findings: of each text, in order.

    Returns:
        Findings of each text, as `find` returns them.
    """
    values: dict[str, tuple[int, SensitiveClass]] = {}
    for number, (text, found) in enumerate(zip(texts, findings, strict=True)):
        for f in found:
            values.setdefault(fold(text[f.start : f.end]).text, (number, f.sensitive_class))
    whole: list[list[Finding]] = []
    for number, (text, found) in enumerate(zip(texts, findings, strict=True)):
        folded = fold(text)
        more = [
            Finding(*folded.span(part.start, part.end), sensitive_class)
            for value, (home, sensitive_class) in values.items()
            if len(value) >= (REPEAT_LENGTH_MIN if home == number else SPREAD_LENGTH_MIN)
            for start in _places(folded.text, value)
            for part in _outside(
                Finding(start, start + len(value), sensitive_class), _placeholders(folded.text)
            )
        ]
        whole.append(_merged([*found, *more]))
    return whole


def replaced(text: str, findings: Sequence[Finding], placeholders: Sequence[str]) -> str:
    """A text with a placeholder for each finding."""
    parts, end = [], 0
    for finding, placeholder in zip(findings, placeholders, strict=True):
        parts += [text[end : finding.start], placeholder]
        end = finding.end
    return "".join([*parts, text[end:]])


def _places(text: str, value: str) -> Iterator[int]:
    """Where a value stands in a folded text; a number only where no longer one holds it."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        around = text[max(0, start - 1) : start] + text[end : end + 1]
        if not (value.isdigit() and any(c.isdigit() for c in around)):
            yield start
        start = text.find(value, end)


def _found(text: str, classes: Collection[SensitiveClass]) -> Iterator[Finding]:
    """Findings of some classes by their places in the original; they may overlap."""
    folded = fold(text)
    placeholders = _placeholders(folded.text)
    for finder in (find_numbers, find_secrets, find_addresses):
        for found in finder(folded.text):
            if found.sensitive_class in classes:
                for part in _outside(found, placeholders):
                    yield Finding(*folded.span(part.start, part.end), part.sensitive_class)


def _placeholders(text: str) -> list[tuple[int, int]]:
    """Where placeholders stand in a folded text."""
    return [found.span() for found in PLACEHOLDER.finditer(text)] if "[" in text else []


def _outside(found: Finding, placeholders: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """What of a finding is not a placeholder."""
    start = found.start
    for low, high in placeholders:
        if low < found.end and start < high:
            if start < low:
                yield Finding(start, low, found.sensitive_class)
            start = high
    if start < found.end:
        yield Finding(start, found.end, found.sensitive_class)


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order, those that overlap joined; the longer one names the class."""
    merged: list[Finding] = []
    for found in sorted(findings, key=lambda f: (f.start, -f.end, f.sensitive_class)):
        if merged and found.start < merged[-1].end:
            last = merged[-1]
            if found.end > last.end:
                merged[-1] = Finding(last.start, found.end, last.sensitive_class)
        else:
            merged.append(found)
    return merged
