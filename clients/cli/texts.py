"""Reading what the user typed: times and JSON objects. Errors name the option at fault."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


def parse_time(name: str, given: str | float | int, *, local: bool) -> datetime:
    """A time from RFC 3339 text or seconds since 1970.

    Args:
        name: What the message of an error names.
        given: Text, or a number of seconds.
        local: Whether a text without a timezone (also a bare date) means local time; else it is
            an error.

    Raises:
        ValueError: If it is neither.
    """
    if isinstance(given, bool) or not isinstance(given, (str, int, float)):
        raise ValueError(f"{name}: {given!r} is neither RFC 3339 nor seconds since 1970")
    try:
        seconds = float(given)
    except ValueError:
        return _parse_text(name, str(given), local)
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{name}: {given} is out of range") from None


def _parse_text(name: str, text: str, local: bool) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name}: {text!r} is neither RFC 3339 nor seconds since 1970") from None
    if time.tzinfo is not None:
        return time
    if not local:
        raise ValueError(f"{name}: {text!r} has no timezone")
    return time.astimezone()


def option_time(name: str, given: str | None) -> datetime | None:
    """The time of an option; text without a timezone is local time; None stays None."""
    return None if given is None else parse_time(name, given, local=True)


def option_choice(name: str, enum: type[StrEnum], given: str | None) -> str | None:
    """The member that an option names, in any letter case; None stays None.

    Raises:
        ValueError: If it names none; the message lists them.
    """
    if given is None:
        return None
    allowed = [member.value for member in enum if member.name != "UNSPECIFIED"]
    if given.lower() not in allowed:
        raise ValueError(f"{name}: {given!r} is none of {', '.join(allowed)}")
    return given.lower()


def check_unicode(name: str, given: Any) -> None:
    """Refuses an argument, or a list of them, whose bytes are not UTF-8.

    Raises:
        ValueError: If it holds such bytes; the message names `name`.
    """
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str) and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError(f"{name}: {text!a} holds bytes that are not UTF-8")


def option_object(name: str, given: str | None) -> dict[str, Any] | None:
    """The JSON object of an option; None stays None.

    Raises:
        ValueError: If it is no JSON object.
    """
    if given is None:
        return None
    try:
        value = json.loads(given)
    except ValueError as error:
        raise ValueError(f"{name}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f'{name}: not a JSON object such as {{"name": "value"}}')
    return value
