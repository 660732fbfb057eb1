"""Modules have telling names, keep no state and do nothing when they are imported."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.tidy.tree import ROOT, is_product, modules, package_folders, plant

VAGUE = frozenset(
    {"common", "util", "utils", "helper", "helpers", "misc", "core", "base", "shared"}
)
# What importing a module must not do; run in a process of its own. Tools may need packages that
# are not installed.
WATCH = """
import importlib, logging, sys, threading
handlers = len(logging.getLogger().handlers)
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("recalld"):
            raise
    if threading.active_count() > 1:
        sys.exit(f"{name} starts a thread")
    if len(logging.getLogger().handlers) > handlers:
        sys.exit(f"{name} sets up logging")
"""


def vague_names(root: Path) -> Iterator[str]:
    """Files and folders of packages whose names say nothing."""
    for name, _ in modules(root):
        if is_product(name, root) and VAGUE & {*Path(name).parts, Path(name).stem}:
            yield name


def module_state(root: Path) -> Iterator[str]:
    """Functions that change a variable of their module."""
    for name, module in modules(root):
        for node in ast.walk(module) if is_product(name, root) else ():
            if isinstance(node, ast.Global):
                yield f"{name}:{node.lineno} changes {', '.join(node.names)}"


def importable(root: Path) -> list[str]:
    """Every module that is no entry point, by its full name."""
    names = []
    for name, _ in modules(root):
        for package, folder in package_folders(root).items():
            path = Path(name)
            if path.parent.as_posix() == folder and path.stem not in ("__init__", "__main__"):
                names.append(f"{package}.{path.stem}")
    return names


def effect_of_importing(names: Sequence[str], search: str = "") -> str:
    """What importing these modules does besides defining things; "" for nothing."""
    variables = {**os.environ, "PYTHONPATH": search} if search else dict(os.environ)
    command = [sys.executable, "-c", WATCH, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables)
    return done.stderr.strip() if done.returncode else ""


def test_names_say_something() -> None:
    """No module or folder of a package is called utils, common or the like."""
    assert list(vague_names(ROOT)) == []


def test_modules_keep_no_state() -> None:
    """No function changes a variable of its module."""
    assert list(module_state(ROOT)) == []


def test_importing_does_nothing() -> None:
    """Importing every module starts no thread and sets up no logging."""
    names = importable(ROOT)
    assert len(names) > 100
    assert effect_of_importing(names) == ""


def test_each_check_can_fail(tmp_path: Path) -> None:
    """A vague name, changed module state and a thread at import are found."""
    mapping = '[tool.setuptools.package-dir]\n"recalld.server" = "server"\n'
    plant(tmp_path, "pyproject.toml", mapping)
    plant(tmp_path, "server/utils.py", "")
    plant(tmp_path, "server/state.py", "count = 0\ndef f():\n    global count\n    count += 1\n")
    assert list(vague_names(tmp_path)) == ["server/utils.py"]
    assert list(module_state(tmp_path)) == ["server/state.py:3 changes count"]
    assert importable(tmp_path) == ["recalld.server.state", "recalld.server.utils"]
    waiting = "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True)"
    plant(tmp_path, "planted_thread.py", f"{waiting}.start()\n")
    plant(tmp_path, "planted_logging.py", "import logging\nlogging.basicConfig()\n")
    here = str(tmp_path)
    assert effect_of_importing(["planted_thread"], here) == "planted_thread starts a thread"
    assert effect_of_importing(["planted_logging"], here) == "planted_logging sets up logging"
