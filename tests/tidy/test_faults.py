"""The matrix of faults is whole, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, plant

MATRIX = ROOT / "docs" / "FAULTS.md"
FAULT_COUNT = 50
NOT_SHOWN = "not shown"
ROW = re.compile(r"^\| (\d+) \|(.*)\|$", re.MULTILINE)
TEST_ID = re.compile(r"`([\w/.]+\.py)::(\w+)`")


def faults(text: str) -> dict[int, str]:
    """The last cell of each row by the number of its fault."""
    return {int(number): cells.rsplit("|", 1)[1].strip() for number, cells in ROW.findall(text)}


def unproven(text: str) -> Iterator[str]:
    """Rows that neither name a test nor say that there is none."""
    for number, shown_by in faults(text).items():
        named = TEST_ID.findall(shown_by)
        rest = TEST_ID.sub("", shown_by).strip()
        if rest != ("" if named else NOT_SHOWN):
            yield f"{number}: {shown_by!r}"


def lost_tests(text: str, root: Path) -> Iterator[str]:
    """Tests named anywhere in the text that do not exist."""
    for file, name in sorted(set(TEST_ID.findall(text))):
        path = root / file
        found = ast.walk(ast.parse(path.read_text("utf-8"))) if path.is_file() else ()
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        if not any(isinstance(node, functions) and node.name == name for node in found):
            yield f"{file}::{name}"


def test_the_matrix_is_whole() -> None:
    """Every fault has its row, in order, with tests or the word that none shows it."""
    text = MATRIX.read_text("utf-8")
    assert list(faults(text)) == list(range(1, FAULT_COUNT + 1))
    assert list(unproven(text)) == []


def test_every_named_test_exists() -> None:
    """No row names a test that is not there."""
    assert list(lost_tests(MATRIX.read_text("utf-8"), ROOT)) == []


def test_each_check_can_fail(tmp_path: Path) -> None:
    """A row without proof and a test that is gone are found."""
    plant(tmp_path, "tests/test_a.py", "def test_here():\n    pass\n")
    text = (
        "| 1 | a | b | `tests/test_a.py::test_here` |\n| 2 | a | b | not shown |\n"
        "| 3 | a | b | surely |\n| 4 | a | b | `tests/test_a.py::test_gone` |\n"
        "| 5 | a | b | `tests/test_b.py::test_here` not shown |\n"
    )
    assert [line[0] for line in unproven(text)] == ["3", "5"]
    assert list(lost_tests(text, tmp_path)) == [
        "tests/test_a.py::test_gone",
        "tests/test_b.py::test_here",
    ]
