"""`make help` tells of every target."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT, plant

RULE = re.compile(r"^([A-Za-z][\w-]*):(?!=)", re.MULTILINE)


def silent_targets(makefile: Path) -> list[str]:
    """Targets that people can name and that `make help` does not list."""
    text = makefile.read_text(encoding="utf-8").replace("\\\n", " ")
    phony = re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE)
    targets = {*RULE.findall(text), *" ".join(phony).split()}
    done = subprocess.run(
        ["make", "-s", "-f", str(makefile), "help"],
        cwd=makefile.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return sorted(targets - listed)


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")


@needs_make
def test_help_lists_every_target() -> None:
    """Every target of the Makefile has its line in `make help`."""
    assert silent_targets(ROOT / "Makefile") == []


@needs_make
def test_a_silent_target_is_found(tmp_path: Path) -> None:
    """A target without a help text is found, also one that is only declared."""
    rule = next(
        part for part in (ROOT / "Makefile").read_text().split("\n\n") if part.startswith("help:")
    )
    made = (
        f".PHONY: help loud \\\n\tquiet\n\n{rule}\n\nloud: ## is told\n\ttrue\n\nmuted:\n\ttrue\n"
    )
    assert silent_targets(plant(tmp_path, "Makefile", made)) == ["muted", "quiet"]
