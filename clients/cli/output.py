"""Writing answers: JSON for programs, tables on a terminal, tab-separated lines in a pipe.

Never writes a control character of a memory to the terminal: contents come from elsewhere.
JSON keeps names and forms stable: lists and numbers always stand, texts and times that hold
nothing are left out, times are RFC 3339 in UTC. People see local times.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


def plain(value: Any) -> Any:
    """The JSON form of a result; fields without a value are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {name: inner for name, inner in fields.items() if not _is_nothing(inner)}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, (frozenset, set)):
        return sorted(plain(inner) for inner in value)
    if isinstance(value, (tuple, list)):
        return [plain(inner) for inner in value]
    return value


def _is_nothing(value: Any) -> bool:
    return value is None or value == "" or value == "unspecified"


def write_json(value: Any) -> None:
    """Writes one object as one line."""
    write(json.dumps(plain(value), ensure_ascii=False))


def write(text: str) -> None:
    """Writes a line of data to stdout."""
    print(text)  # noqa: T201


def write_rows(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes rows as a table on a terminal, else as tab-separated lines without a header.

    Ids keep to one line in the table, however narrow it is, so that they can be copied.
    """
    if not sys.stdout.isatty():
        for row in rows:
            write("\t".join(shown_text(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, overflow="fold", no_wrap=header == "id")
    for row in rows:
        table.add_row(*(Text(_cell_text(cell)) for cell in row))
    Console().print(table)


def _cell_text(value: object) -> str:
    """How a value is shown in a table, where room is short: times to the minute."""
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M")
    return shown_text(value)


def write_fields(value: Any) -> None:
    """Writes the fields of a result that hold something, one a line."""
    for name, inner in dataclass_fields(value):
        write(f"{name}: {shown_text(inner)}")


def dataclass_fields(value: Any) -> list[tuple[str, Any]]:
    """Names and values of the fields that hold something."""
    pairs = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    return [
        (name, inner)
        for name, inner in pairs
        if not _is_nothing(inner) and inner not in ((), {}, frozenset())
    ]


def shown_text(value: object) -> str:
    """How a value is shown to a person: one line, printable characters, local time."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone().isoformat(timespec="seconds")
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(plain(value), ensure_ascii=False)
    return "".join(letter if letter.isprintable() else " " for letter in text)
