"""What the tidy checks look at: the files of a source tree, and their syntax trees.

It never imports what it reads. In a git checkout the files are those that git would track, so
caches and virtual environments do not count; elsewhere (a planted tree, an unpacked archive) they
are all files outside folders of that kind.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = "_pb2"
NOT_SOURCE = frozenset({"__pycache__", "build", "dist", "node_modules", "recalld-data"})


def files(root: Path) -> list[Path]:
    """Every file of the tree, sorted."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        named = [root / name for name in listed.stdout.split("\0") if name]
        return sorted(path for path in named if path.is_file())
    return sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and not NOT_SOURCE & set(path.relative_to(root).parts)
    )


def name_of(path: Path, root: Path) -> str:
    """The path inside the tree, with slashes."""
    return path.relative_to(root).as_posix()


def modules(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Name and syntax tree of every Python file that people write."""
    for path in files(root):
        if path.suffix == ".py" and GENERATED not in path.name:
            yield name_of(path, root), _parsed(path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=2000)
def _parsed(text: str) -> ast.Module:
    """The syntax tree of a file; every check reads them all, and none changes them."""
    return ast.parse(text)


def package_folders(root: Path) -> Mapping[str, str]:
    """Packages and their folders, as pyproject.toml maps them."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders: dict[str, str] = project["tool"]["setuptools"]["package-dir"]
    return folders


def is_product(name: str, root: Path) -> bool:
    """Whether a file belongs to a package, not to tests or examples."""
    return any(name.startswith(f"{folder}/") for folder in package_folders(root).values())


def plant(root: Path, name: str, text: str) -> Path:
    """Write a file of a planted tree."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def copy_packages(root: Path, into: Path) -> None:
    """Copy every package's Python files to `<into>/recalld/<part>`, where imports find them."""
    for package, folder in package_folders(root).items():
        for path in sorted((root / folder).rglob("*.py")):
            target = into / Path(*package.split(".")) / path.relative_to(root / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def dotted(node: ast.expr) -> str:
    """`os.path.join` for an attribute chain; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := dotted(node.value)):
        return f"{head}.{node.attr}"
    return ""
