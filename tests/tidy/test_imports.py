"""Who may import whom: the contracts of .importlinter, and no bare folder names."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, copy_packages, is_product, modules, package_folders, plant

# One planted import per contract, by the name of the contract.
FORBIDDEN = {
    "layers": ("scoring", "import recalld.index.shard"),
    "index-storage": ("index", "import recalld.storage.store"),
    "wire": ("storage", "import recalld.v1.types_pb2"),
    "client": ("client", "import recalld.server.config"),
    "cli": ("cli", "import recalld.server.config"),
    "bench": ("server", "import recalld.bench.metrics"),
    "server-client": ("server", "import recalld.client"),
    "numba": ("scoring", "import numba"),
    "hnswlib": ("index", "import hnswlib"),
    "onnxruntime": ("index", "import onnxruntime"),
    "duckdb": ("storage", "import duckdb"),
    "cryptography": ("server", "import cryptography"),
    "phonenumbers": ("server", "import phonenumbers"),
}


def lint_imports(where: Path) -> str:
    """The report of import-linter on the packages below a folder, by the repository's contracts."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as run; run()",
    ]
    done = subprocess.run(
        [*command, "--no-cache", "--no-logo"],
        cwd=where,
        env={**os.environ, "PYTHONPATH": str(where), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def contracts(config: Path) -> dict[str, str]:
    """Names of the contracts as the report prints them, by their short names."""
    titles: dict[str, str] = {}
    short = ""
    for line in config.read_text(encoding="utf-8").splitlines():
        if line.startswith("[importlinter:contract:"):
            short = line.removeprefix("[importlinter:contract:").removesuffix("]")
        elif line.startswith("name = ") and short:
            titles[short] = line.removeprefix("name = ")
    return titles


def bare_imports(root: Path) -> Iterator[str]:
    """Imports of a part by the name of its folder, which make a second copy of the module."""
    folders = {folder.split("/")[0] for folder in package_folders(root).values()}
    for name, module in modules(root):
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                named = [node.module or ""]
            else:
                continue
            yield from (
                f"{name}:{node.lineno} imports {n}" for n in named if n.split(".")[0] in folders
            )


def relative_imports(root: Path) -> Iterator[str]:
    """Imports with leading dots: a part is always named in full."""
    for name, module in modules(root):
        for node in ast.walk(module) if is_product(name, root) else ():
            if isinstance(node, ast.ImportFrom) and node.level:
                yield f"{name}:{node.lineno} imports relatively"


def test_the_packages_keep_every_contract(tmp_path: Path) -> None:
    """The parts import only what their contracts allow."""
    copy_packages(ROOT, tmp_path)
    shutil.copy(ROOT / ".importlinter", tmp_path)
    report = lint_imports(tmp_path)
    assert "0 broken" in report, report


def test_every_contract_can_fail(tmp_path: Path) -> None:
    """A planted import breaks each of the contracts."""
    titles = contracts(ROOT / ".importlinter")
    assert titles.keys() == FORBIDDEN.keys()
    copy_packages(ROOT, tmp_path)
    shutil.copy(ROOT / ".importlinter", tmp_path)
    for short, (part, line) in FORBIDDEN.items():
        plant(tmp_path, f"recalld/{part}/planted_{short.replace('-', '_')}.py", f"{line}\n")
    report = lint_imports(tmp_path)
    kept = [short for short, title in titles.items() if f"{title} BROKEN" not in report]
    assert kept == [], report


def test_no_part_is_imported_by_its_folder() -> None:
    """Parts are imported as recalld.<part>, absolutely."""
    assert [*bare_imports(ROOT), *relative_imports(ROOT)] == []


def test_bare_and_relative_imports_are_found(tmp_path: Path) -> None:
    """The checkers of bare and of relative imports can fail."""
    plant(
        tmp_path, "pyproject.toml", '[tool.setuptools.package-dir]\n"recalld.server" = "server"\n'
    )
    plant(
        tmp_path,
        "server/planted.py",
        "import server.app\nfrom server import app\nfrom . import app\n",
    )
    assert len(list(bare_imports(tmp_path))) == 2
    assert len(list(relative_imports(tmp_path))) == 1
