"""Finds sensitive data in a text: which parts, and of which class.

It knows no policy and changes nothing. It never keeps or logs what it finds.

Invariants: findings do not overlap and come in order; placeholders are never found; the same text
gives the same findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from recalld.server.sensitive_class import CLASSES, Finding, SensitiveClass
from recalld.server.sensitive_numbers import find_numbers
from recalld.server.sensitive_secrets import find_addresses, find_secrets
from recalld.server.sensitive_text import fold

PLACEHOLDER = re.compile(
    rf"\[(?P<label>{'|'.join(member.label for member in CLASSES)})(?::(?P<tag>[0-9a-f]{{12}}))?\]"
)
"""What stands in a text for what was replaced; with a tag where the original is sealed."""


def find(text: str, classes: Iterable[SensitiveClass] = CLASSES, name: str = "") -> list[Finding]:
    """Sensitive parts of a text.

    Args:
        text: any text.
        classes: what is looked for; others do not hide what overlaps them.
        name: what the text is the value of, such as `wifi.password`; it tells of the text.

    Returns:
        In order, without overlaps: parts that overlap are one, of the class that begins first.

    Complexity: linear in the text.
    """
    if not name:
        return _merged(_found(text, frozenset(classes)))
    prefix = f"{name}: "
    shift = len(prefix)
    found = (
        Finding(max(f.start - shift, 0), f.end - shift, f.sensitive_class)
        for f in _found(prefix + text, frozenset(classes))
        if f.end > shift
    )
    return _merged(found)


def _found(text: str, classes: frozenset[SensitiveClass]) -> Iterator[Finding]:
    """Findings of some classes by their places in the original; they may overlap."""
    folded = fold(text)
    placeholders = [found.span() for found in PLACEHOLDER.finditer(folded.text)]
    for finder in (find_numbers, find_secrets, find_addresses):
        for found in finder(folded.text):
            if found.sensitive_class not in classes:
                continue
            if any(found.start < end and start < found.end for start, end in placeholders):
                continue
            yield Finding(*folded.span(found.start, found.end), found.sensitive_class)


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
