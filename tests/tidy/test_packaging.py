"""What is in the source folders is in the wheel."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from tests.tidy.tree import ROOT, files, name_of, plant

# Files beside the code that the program does not need.
LEFT_OUT = ("*.md",)


def forgotten(root: Path) -> Iterator[str]:
    """Folders, packages and data files that a wheel would miss."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    setup = project["tool"]["setuptools"]
    folders: dict[str, str] = setup["package-dir"]
    listed = set(setup["packages"])
    yield from (f"{name} has no folder" for name in sorted(listed - folders.keys()))
    yield from (f"{name} is not in packages" for name in sorted(folders.keys() - listed))
    patterns = setup["package-data"]["*"]
    for name in (name_of(path, root) for path in files(root)):
        folder, _, file = name.rpartition("/")
        home = next((f for f in folders.values() if folder == f or folder.startswith(f"{f}/")), "")
        if not home:
            continue
        if file.endswith(".py"):
            if folder not in folders.values():
                yield f"{name} is in a folder that the wheel misses"
        elif folder in folders.values() and not is_matched(file, (*patterns, *LEFT_OUT)):
            yield f"{name} is not in package-data"


def is_matched(file: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns names the file."""
    return any(fnmatch(file, pattern) for pattern in patterns)


def untyped(root: Path) -> Iterator[str]:
    """Packages without the mark that their annotations count."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for folder in project["tool"]["setuptools"]["package-dir"].values():
        if not (root / folder / "py.typed").is_file():
            yield f"{folder} has no py.typed"


def test_the_wheel_misses_nothing() -> None:
    """Every folder with code is a listed package, every data file is matched, all are typed."""
    assert [*forgotten(ROOT), *untyped(ROOT)] == []


def test_missing_parts_are_found(tmp_path: Path) -> None:
    """A sub-folder, an unlisted package and an unmatched data file are found."""
    plant(
        tmp_path,
        "pyproject.toml",
        '[tool.setuptools]\npackages = ["recalld.a", "recalld.c"]\n'
        '[tool.setuptools.package-dir]\n"recalld.a" = "a"\n"recalld.b" = "b"\n'
        '[tool.setuptools.package-data]\n"*" = ["py.typed", "*.sql"]\n',
    )
    for name in ("a/x.py", "a/sub/y.py", "a/schema.sql", "a/table.csv", "a/NOTES.md", "b/py.typed"):
        plant(tmp_path, name, "")
    assert list(forgotten(tmp_path)) == [
        "recalld.c has no folder",
        "recalld.b is not in packages",
        "a/sub/y.py is in a folder that the wheel misses",
        "a/table.csv is not in package-data",
    ]
    assert list(untyped(tmp_path)) == ["a has no py.typed"]
