"""The classes of sensitive data, and what a finding is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class SensitiveClass(IntEnum):
    """What sort of sensitive data it is; numbers of the wire."""

    UNSPECIFIED = 0
    RESIDENT_ID = 1
    BANK_CARD = 2
    PHONE = 3
    EMAIL = 4
    API_KEY = 5
    PASSWORD = 6

    @property
    def label(self) -> str:
        """Its name in settings, placeholders and messages."""
        return self.name.lower()


CLASSES = tuple(member for member in SensitiveClass if member)


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a text, [start, end), that is sensitive."""

    start: int
    end: int
    sensitive_class: SensitiveClass
