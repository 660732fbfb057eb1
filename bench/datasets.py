"""Reading evaluation files: JSON and JSON Lines, plain or gzip, alone or in folders.

Knows file formats, not the meaning of any set; never writes.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIXES = (".json", ".json.gz", ".jsonl", ".jsonl.gz")


class DatasetError(Exception):
    """Raised when a path holds no file of the format asked for, or a file cannot be read as one."""


def read_json(path: Path) -> Any:
    """The one value of a JSON file.

    Raises:
        DatasetError: the file is missing or no JSON.
    """
    try:
        return json.loads(_text(path))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: {error}") from error


def read_json_lines(path: Path) -> list[Any]:
    """The values of a JSON Lines file, one a line; blank lines are skipped.

    Raises:
        DatasetError: the file is missing, or a line is no JSON (the line is named).
    """
    try:
        lines = _text(path).split("\n")  # not splitlines: U+2028 may stand inside a string
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: {error}") from error
    values = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except ValueError as error:
                raise DatasetError(f"{path}:{number}: {error}") from error
    return values


def read_objects(path: Path, *fields: str) -> list[dict[str, Any]]:
    """The objects with all of these fields, from the JSON Lines files of a file or folder.

    Raises:
        DatasetError: there is no such path, or a line is no JSON.
    """
    return [
        line
        for file in files_in(path)
        if ".jsonl" in file.name
        for line in read_json_lines(file)
        if isinstance(line, dict) and all(field in line for field in fields)
    ]


def files_in(path: Path) -> list[Path]:
    """The file itself, or the JSON files directly in a folder by name.

    Raises:
        DatasetError: there is no such path.
    """
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.is_file() and p.name.endswith(SUFFIXES))
    if path.is_file():
        return [path]
    raise DatasetError(f"{path}: no such file or folder")


def folders_in(path: Path) -> Iterator[Path]:
    """The folder itself, then its sub-folders by name."""
    yield path
    if path.is_dir():
        yield from sorted(p for p in path.iterdir() if p.is_dir())


def named_file(folder: Path, stem: str) -> Path | None:
    """The file `stem` with any of the known suffixes, or None."""
    return next((p for s in SUFFIXES if (p := folder / f"{stem}{s}").is_file()), None)


def _text(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return file.read()
    return path.read_text(encoding="utf-8")
