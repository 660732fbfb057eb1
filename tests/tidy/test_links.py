"""Links in documents lead somewhere: to a file of the repository, or to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tests.tidy.tree import ROOT, files, name_of, plant

LINK = re.compile(
    r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|\b(?:src|srcset|href)=\"([^\"]+)\""
)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub makes them; repeated ones get a number."""
    made: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        base = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        anchor, number = base, 0
        while anchor in made:
            number += 1
            anchor = f"{base}-{number}"
        made.add(anchor)
    return made


def dead_links(root: Path) -> Iterator[str]:
    """Links to files or headings that do not exist, and links that leave the repository by path."""
    known = {path.resolve() for path in files(root)}
    folders = {parent for path in known for parent in path.parents}
    for path in files(root):
        if path.suffix != ".md":
            continue
        text = path.read_text(encoding="utf-8")
        for pair in LINK.findall(FENCE.sub("", text)):
            link = pair[0] or pair[1]
            if link.startswith(ELSEWHERE):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path.resolve()
            if target not in known and target not in folders:
                yield f"{name_of(path, root)}: {link} leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in anchors(_text(target)):
                yield f"{name_of(path, root)}: {link} has no such heading"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    """Every link of every document leads to a file, and to a heading where it names one."""
    assert list(dead_links(ROOT)) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    """A missing file, a missing heading and a missing picture are found; code is not read."""
    plant(tmp_path, "docs/b.md", "# One `two`, three\n")
    plant(
        tmp_path,
        "a.md",
        "# Here\n[ok](docs/b.md#one-two-three) [ok](docs) [ok](#here) [ok](https://example.org)\n"
        '[no](docs/c.md) [no](docs/b.md#two) <img src="no.svg">\n'
        "```\n[code](nowhere)\n```\n",
    )
    assert list(dead_links(tmp_path)) == [
        "a.md: docs/c.md leads nowhere",
        "a.md: docs/b.md#two has no such heading",
        "a.md: no.svg leads nowhere",
    ]
