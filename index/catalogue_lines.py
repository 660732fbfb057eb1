"""Lines of a catalogue's files: how they are read, and what each field of them may hold.

It knows the form of fields, not what entries mean; whatever breaks a rule is named by file, line
and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalld.index.errors import CatalogueInvalid

LANGUAGES = ("zh", "en")
# Each bounds what start-up embeds: several times the built-in size.
EXAMPLE_COUNT_MAX = 64
EXAMPLE_CHARS_MAX = 200
FILE_BYTES_MAX = 8 * 1024 * 1024
KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of a file, each with `file:line`; blank lines are skipped."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise CatalogueInvalid(f"{path}: is larger than {FILE_BYTES_MAX} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CatalogueInvalid(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CatalogueInvalid(f"{path}: is not UTF-8 at byte {error.start}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            item = json.loads(line, object_pairs_hook=_distinct)
        except ValueError as error:
            raise CatalogueInvalid(f"{where}: {error}") from error
        if not isinstance(item, dict):
            raise CatalogueInvalid(f"{where}: is not a JSON object")
        yield where, item


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names differ; JSON itself would let the last one win in silence."""
    item = dict(pairs)
    if len(item) != len(pairs):
        raise ValueError("a field comes twice")
    return item


def examples_of(
    item: dict[str, Any], name: str, owner: str, taken: dict[str, str], where: str
) -> list[str]:
    """Texts of all languages, none of which an other entry has."""
    by_language = object_of(item, name, where)
    check_fields(by_language, frozenset(LANGUAGES), f"{where}: {name}")
    found = []
    for language, texts in by_language.items():
        if not isinstance(texts, list):
            raise CatalogueInvalid(f"{where}: {name}.{language}: must be a list")
        for at, text in enumerate(texts):
            path = f"{where}: {name}.{language}[{at}]"
            found.append(line_of_text(text, path))
            claim(taken, text, owner, path)
    return found


def claim(taken: dict[str, str], text: str, owner: str, path: str) -> None:
    """Note whose a text is."""
    if text in taken:
        raise CatalogueInvalid(f"{path}: stands at {taken[text]!r} already")
    taken[text] = owner


def check_count(texts: list[str], name: str, where: str) -> None:
    """Check the number of examples."""
    if not 1 <= len(texts) <= EXAMPLE_COUNT_MAX:
        raise CatalogueInvalid(
            f"{where}: {name}: {len(texts)} examples are not in [1, {EXAMPLE_COUNT_MAX}]"
        )


def line_of_text(value: object, path: str) -> str:
    """One line with content."""
    is_line = isinstance(value, str) and value == value.strip() and value.isprintable()
    if not (is_line and isinstance(value, str) and 0 < len(value) <= EXAMPLE_CHARS_MAX):
        raise CatalogueInvalid(
            f"{path}: must be one trimmed line of 1 to {EXAMPLE_CHARS_MAX} characters"
        )
    return value


def object_of(item: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    """A field that holds an object; empty where it is missing."""
    value = item.get(name, {})
    if not isinstance(value, dict):
        raise CatalogueInvalid(f"{where}: {name}: must be an object")
    return value


def check_fields(item: dict[str, Any], known: frozenset[str], where: str) -> None:
    """Refuse fields that nobody would read."""
    unknown = sorted(item.keys() - known)
    if unknown:
        raise CatalogueInvalid(f"{where}: {unknown[0]!r} is not one of {', '.join(sorted(known))}")


def keys_of(
    item: dict[str, Any], name: str, owner: str, taken: dict[str, str], where: str
) -> list[str]:
    """Keys of memories, none of which another entry has."""
    keys = item.get(name, [])
    if not isinstance(keys, list):
        raise CatalogueInvalid(f"{where}: {name} must be a list")
    for at, key in enumerate(keys):
        path = f"{where}: {name}[{at}]"
        if not isinstance(key, str) or not KEY.fullmatch(key):
            raise CatalogueInvalid(f"{path}: must be a dotted path of a-z, 0-9 and _")
        claim(taken, key, owner, path)
    return keys
