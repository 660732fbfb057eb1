"""Dictionary: strings and objects kept once each; rows hold their numbers.

Append-only: readers may look while one writer adds. Number 0 is the empty value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class Dictionary:
    """Append-only numbering of values; readers may look while one writer adds."""

    def __init__(self, empty: Any = "") -> None:
        """Start with `empty` under number 0."""
        self.values: list[Any] = [empty]
        self._numbers: dict[str, int] = {"" if empty == "" else canonical(empty): 0}

    def enter(self, name: str, value: Any = None) -> int:
        """Return the number of `name`, giving it the next one when it is new."""
        number = self._numbers.get(name)
        if number is None:
            number = len(self.values)
            # The value first: whoever sees the number finds its value.
            self.values.append(name if value is None else value)
            self._numbers[name] = number
        return number

    def number(self, name: str) -> int:
        """Return the number of `name`, or -1."""
        return self._numbers.get(name, -1)


def canonical(value: Mapping[str, Any]) -> str:
    """Spell a JSON object in one way, so that equal ones share a number."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if value else "{}"
