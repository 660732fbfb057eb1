"""Canonical values of keys, as the catalogue lists them: what a key can hold, by examples.

Many wordings land on one value: short answers, nothing long-winded. It never embeds anything and
judges no text. Invariants: a key and its synonyms belong to one entry; an example stands for one
value of its key; a key has at least two values.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recalld.index.catalogue_lines import (
    check_count,
    examples_of,
    keys_of,
    object_of,
)
from recalld.index.errors import CatalogueInvalid

VALUES_OF = "values_of"
VALUE_COUNT_MAX = 16
VALUE = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")


@dataclass
class KeyValues:
    """What one key can hold.

    Attributes:
        synonyms: other keys with the same values.
        values: value -> example statements.
    """

    synonyms: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Names:
    """Whose a key or an example is, so that none stands at two places.

    Attributes:
        keys: key or synonym -> its entry.
        examples: entry -> example -> its value.
    """

    keys: dict[str, str] = field(default_factory=dict)
    examples: dict[str, dict[str, str]] = field(default_factory=dict)

    @staticmethod
    def of(entries: Mapping[str, KeyValues]) -> Names:
        """What entries that were read before hold."""
        names = Names()
        for key, entry in entries.items():
            names.keys |= dict.fromkeys((key, *entry.synonyms), key)
            names.examples[key] = {t: v for v, texts in entry.values.items() for t in texts}
        return names


def fill_values(
    entries: dict[str, KeyValues], key: str, item: dict[str, Any], names: Names, where: str
) -> None:
    """Add one line to the entry of a key.

    Args:
        entries: by key; grows.
        key: of the line.
        item: the line.
        names: of what was read before; grows.
        where: file and line, for errors.

    Raises:
        CatalogueInvalid: a field breaks a rule.
    """
    if names.keys.get(key, key) != key:
        raise CatalogueInvalid(f"{where}: {VALUES_OF}: is a synonym of {names.keys[key]!r}")
    names.keys[key] = key
    entry = entries.setdefault(key, KeyValues())
    entry.synonyms += keys_of(item, "synonyms", key, names.keys, where)
    taken = names.examples.setdefault(key, {})
    given = object_of(item, "values", where)
    for value in given:
        if not VALUE.fullmatch(value):
            raise CatalogueInvalid(f"{where}: values: {value!r} must be 1 to 64 of a-z, 0-9 and _")
        texts = entry.values.setdefault(value, [])
        texts += examples_of(given, value, value, taken, f"{where}: values")
        check_count(texts, f"values.{value}", where)
    if not 2 <= len(entry.values) <= VALUE_COUNT_MAX:
        raise CatalogueInvalid(
            f"{where}: values: {len(entry.values)} are not in [2, {VALUE_COUNT_MAX}]"
        )


def values_hash(entries: Mapping[str, KeyValues]) -> str:
    """Hash everything of canonical values that is embedded: 32 hex digits."""
    texts = [[key, entry.values] for key, entry in entries.items()]
    return hashlib.sha256(json.dumps(texts).encode("ascii")).hexdigest()[:32]
