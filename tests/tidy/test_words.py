"""The repository speaks of the product only, and runs anywhere.

No text names a place on the machine of whoever wrote it, the host of a package registry, or how
the work on it was organised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, files, name_of, plant

WORK = "how the work was organised"
HOST = "the host of a registry"
# Sentences of data are what people say to an agent, also about their machines and their work.
DATA = (".jsonl", ".csv")
# Character classes keep the patterns from matching themselves.
UNWANTED = {
    "a path of one machine": re.compile(
        r"(?<![\w.~-])/(?:[w]ork|[o]pt|[r]oot|[h]ome/[a-z]|[U]sers|[t]mp/[a-z]+_[a-z]+\.txt)\b"
    ),
    HOST: re.compile(
        r"://[\w.:@-]*(?:[p]ypi|[n]pm|[r]egistry|[m]irror|[a]rtifactory|[n]exus|[g]oproxy)[\w-]*\.\w",
        re.IGNORECASE,
    ),
    WORK: re.compile(
        r"\b(?:[w]orkplace|[c]o-authored-by|[s]ub-?agents?|[h]elper sessions?"
        r"|(?:[i]ssue|[p]ull request) #?\d+|[D]ESIGN\.md|[C]ONVENTIONS\.md)\b",
        re.IGNORECASE,
    ),
}


def is_text(data: bytes) -> bool:
    """Whether a file can be read by people."""
    return b"\0" not in data[:8192]


def unwanted(root: Path) -> Iterator[str]:
    """Lines of text files with something that does not belong there."""
    for path in files(root):
        data = path.read_bytes()
        if not is_text(data):
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
            for what, pattern in UNWANTED.items():
                is_data = what != HOST and path.suffix in DATA
                if not is_data and (found := pattern.search(line)):
                    yield f"{name_of(path, root)}:{number} names {what}: {found.group()}"


def test_texts_speak_of_the_product() -> None:
    """No file names a machine's path, a registry's host or how the work was organised."""
    assert list(unwanted(ROOT)) == []


def test_unwanted_words_are_found(tmp_path: Path) -> None:
    """One line of each sort is found; similar harmless ones and binary files are not."""
    planted = ["/" + "opt/venv/bin", "https://" + "pypi.example.org/simple", "see issue" + " #12"]
    for number, line in enumerate(planted):
        plant(tmp_path, f"bad{number}.txt", f"fine\n{line}\n")
    plant(tmp_path, "good.txt", "./work/x ~/opt an option/root-cause https://example.org/npm\n")
    plant(tmp_path, "said.jsonl", f"{planted[0]}\n{planted[2]}\n")
    (tmp_path / "data.bin").write_bytes(b"\0" + planted[0].encode())
    found = [line.split(" names ")[0] for line in unwanted(tmp_path)]
    assert found == ["bad0.txt:2", "bad1.txt:2", "bad2.txt:2"]
