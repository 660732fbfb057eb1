"""Things that have one owner: the environment, the order of disk writes, the clock, statuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.tidy.tree import ROOT, dotted, is_product, modules, plant

ENVIRONMENT = frozenset({"os.environ", "os.getenv", "os.environb", "os.putenv", "os.unsetenv"})
DISK_ORDER = frozenset(
    {
        "os.fsync",
        "os.fdatasync",
        "os.sync",
        "os.rename",
        "os.replace",
        "os.renames",
        "os.link",
        "shutil.move",
    }
)
WALL_CLOCK = frozenset(
    {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}
)


@dataclass(frozen=True)
class Rule:
    """Names that only some files may use.

    Attributes:
        names: dotted names as they are written, or the last part of a call on an object (".abort").
        owners: files that may use them, with the reason.
        parts: folders that the rule speaks of; empty means every package.
        entry_points: whether code under `if __name__ == "__main__"` may use them, too.
    """

    names: frozenset[str]
    owners: Mapping[str, str]
    parts: tuple[str, ...] = ()
    entry_points: bool = False


RULES = {
    "environment": Rule(
        ENVIRONMENT,
        {
            "server/config.py": "the one reader of the server's environment",
            "index/onnx_session.py": "sets a switch that onnxruntime reads while it loads",
            "bench/bench_embedder.py": "looks for the model where the server does",
            "clients/python/testing.py": "passes its environment on to the server it starts",
        },
        entry_points=True,
    ),
    "disk order": Rule(
        DISK_ORDER,
        {
            "storage/fsio.py": "the one caller in the server",
            "index/model_output.py": "publishes files of a model when they are complete",
            "index/model_source.py": "publishes a wheel when it is complete",
            "clients/cli/transfer_commands.py": "publishes an export when it is complete",
            "bench/bench_store.py": "measures what a bare fsync costs",
        },
    ),
    "clock": Rule(
        WALL_CLOCK,
        {"server/clock.py": "the one reader of the time"},
        parts=("server", "index", "scoring", "storage"),
    ),
    "status": Rule(
        frozenset({".abort", ".set_code", ".set_details"}),
        {"server/dispatch.py": "ends every call that fails"},
        parts=("server",),
    ),
}


def is_entry_point(node: ast.stmt) -> bool:
    """Whether a statement runs only where its module is the program."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def uses(module: ast.Module, rule: Rule) -> Iterator[tuple[int, str]]:
    """Lines and names of every use."""
    names = rule.names
    body = [node for node in module.body if not (rule.entry_points and is_entry_point(node))]
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in names:
                    yield node.lineno, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Attribute):
            written = dotted(node)
            if written in names or written.removeprefix("datetime.") in names:
                yield node.lineno, written
            elif f".{node.attr}" in names:
                yield node.lineno, f".{node.attr}"


def strangers(root: Path, rule: Rule) -> Iterator[str]:
    """Uses outside the owners, and owners that have no use for it any more."""
    idle = set(rule.owners)
    for name, module in modules(root):
        if not is_product(name, root) or (rule.parts and name.split("/")[0] not in rule.parts):
            continue
        found = list(uses(module, rule))
        if found:
            idle.discard(name)
        if name not in rule.owners:
            yield from (f"{name}:{line} uses {used}" for line, used in found)
    yield from (f"{name} does not use it any more: drop its entry" for name in idle)


def test_owners_alone_do_their_work() -> None:
    """Environment, order of disk writes, wall clock and statuses have their documented owners."""
    assert {what: list(strangers(ROOT, rule)) for what, rule in RULES.items()} == {
        what: [] for what in RULES
    }


def test_strangers_are_found(tmp_path: Path) -> None:
    """A use outside the owners is found for each rule, however it is imported."""
    plant(
        tmp_path, "pyproject.toml", '[tool.setuptools.package-dir]\n"recalld.server" = "server"\n'
    )
    plant(
        tmp_path,
        "server/planted.py",
        "import os, time, datetime\nfrom os import replace, environ\n"
        "from datetime import datetime\n"
        "def f(context):\n    os.environ['A']; os.fsync(1); time.time(); datetime.now()\n"
        "    datetime.datetime.now(); context.abort(1)\n"
        "if __name__ == '__main__':\n    f(os.environ)\n",
    )
    plant(tmp_path, "tests/test_it.py", "import os\nos.environ['A']\n")
    counts = {
        what: len(list(strangers(tmp_path, replace(rule, owners={}))))
        for what, rule in RULES.items()
    }
    assert counts == {"environment": 2, "disk order": 2, "clock": 3, "status": 1}


def test_idle_owners_are_found(tmp_path: Path) -> None:
    """An owner that does not use its privilege has to give it up."""
    plant(
        tmp_path, "pyproject.toml", '[tool.setuptools.package-dir]\n"recalld.server" = "server"\n'
    )
    rule = Rule(ENVIRONMENT, {"server/config.py": "reads it"})
    assert list(strangers(tmp_path, rule)) == [
        "server/config.py does not use it any more: drop its entry"
    ]
