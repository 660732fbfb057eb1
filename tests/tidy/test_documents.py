"""Tables in the documents are those of the code, and files that they name exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from recalld.server import limits
from recalld.server.config import Config
from recalld.server.services import SERVICES
from tests.tidy.tree import ROOT, files, name_of, plant

README = ROOT / "README.md"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
NAMED = re.compile(
    r"`((?:server|index|scoring|storage|clients|bench|proto|tests|docs|deploy|examples|requirements)"
    r"/[\w./-]+)`"
)
TARGET = re.compile(r"\bmake ([a-z][a-z-]*(?: [a-z][a-z-]*-[a-z-]+)*)\b(?=`|  |$)", re.MULTILINE)


def rows(text: str, heading: str) -> list[tuple[str, ...]]:
    """Cells of the first table below the line that starts with `heading`, without its head."""
    lines = text[text.index(f"\n{heading}") :].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    table = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        table.append(tuple(cell.strip().strip("`") for cell in line.strip("|").split("|")))
    return table


def calls() -> list[tuple[str, str, str]]:
    """Every call of the contract, and whether it works."""
    return [
        (service.name, method.name, "works" if method.name in names else "UNIMPLEMENTED")
        for service, names in SERVICES
        for method in service.methods
    ]


def settings() -> list[tuple[str, str, str]]:
    """Every setting with its default and its description."""
    found = []
    for section_name, section in Config():
        for name, field in type(section).model_fields.items():
            value = getattr(section, name)
            shown = "unset" if value is None else str(value) or "empty"
            shown = shown.lower() if isinstance(value, bool) else shown
            found.append((f"{section_name}.{name}", shown, str(field.description)))
    return found


def lost_names(text: str, known: Iterable[str]) -> Iterator[str]:
    """Files and folders in backquotes that are not in the tree."""
    known = set(known)
    folders = {parent.as_posix() for name in known for parent in Path(name).parents}
    for name in NAMED.findall(text):
        if name.rstrip("/") not in known | folders:
            yield name


def test_the_readme_lists_every_call() -> None:
    """README names every call of the contract, in its order, with its present state."""
    assert [row[:3] for row in rows(README.read_text("utf-8"), "| service |")] == calls()


def test_the_readme_counts_the_calls() -> None:
    """The numbers in the text are those of the table."""
    text = README.read_text("utf-8")
    working = sum(state == "works" for _, _, state in calls())
    names = {12: "Twelve", 13: "Thirteen", 14: "Fourteen", 15: "Fifteen", 16: "Sixteen"}
    assert f"{names.get(working, working)} of the {len(calls())} calls" in text


def test_the_readme_lists_every_setting() -> None:
    """README names every setting with its default and its description."""
    assert rows(README.read_text("utf-8"), "| setting |") == settings()


def test_the_limits_are_those_of_the_server() -> None:
    """ARCHITECTURE names every limit with its value."""
    table = rows(ARCHITECTURE.read_text("utf-8"), "| limit |")
    shown = {name: int(value.replace(",", "")) for name, value, _ in table}
    assert shown == limits.table()


def test_named_files_exist() -> None:
    """Every file that a document names in backquotes exists."""
    known = [name_of(path, ROOT) for path in files(ROOT)]
    lost = {
        name: list(lost_names((ROOT / name).read_text("utf-8"), known))
        for name in known
        if name.endswith(".md") and not name.startswith("bench/")
    }
    assert {name: found for name, found in lost.items() if found} == {}


def test_named_targets_exist() -> None:
    """Every `make` target in the documents is one of the Makefile."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    named = {
        target
        for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/OPERATIONS.md")
        for group in TARGET.findall((ROOT / name).read_text("utf-8"))
        for target in group.split()
    }
    assert named and named <= targets


def test_the_place_for_results_is_marked() -> None:
    """README has exactly one block for figures, opened before it is closed."""
    text = README.read_text("utf-8")
    assert text.count("<!-- results:begin -->") == text.count("<!-- results:end -->") == 1
    assert text.index("<!-- results:begin -->") < text.index("<!-- results:end -->")


def test_each_check_can_fail(tmp_path: Path) -> None:
    """Tables are read cell by cell, and a lost file is found."""
    text = "# A\n\n| service | call |\n|---|---|\n| S | `C` |\n\nafter\n"
    assert rows(text, "| service |") == [("S", "C")]
    plant(tmp_path, "server/here.py", "")
    known = [name_of(path, tmp_path) for path in files(tmp_path)]
    assert list(lost_names("`server/here.py` `server/gone.py` `server/`", known)) == [
        "server/gone.py"
    ]
    assert TARGET.findall("`make run` and\nmake test    # it\nmake sure that") == ["run", "test"]
