"""Files, functions and parameter lists stay small enough to be read at one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.tidy.tree import ROOT, modules, plant

FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 60
PARAMETER_COUNT_MAX = 7

# Existing excess: file, or file and function -> how much. It may only shrink: a larger figure
# fails, and so does an entry that is no longer needed.
EXCESS: dict[str, int] = {}


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many parameters a function has, `self` and `cls` not counted."""
    given = function.args
    named = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    stars = [a for a in (given.vararg, given.kwarg) if a is not None]
    return len([name for name in named if name not in ("self", "cls")]) + len(stars)


def is_cli(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether typer makes options of the parameters, which are no parameter list then."""
    return any("command" in ast.unparse(decorator) for decorator in function.decorator_list)


def sizes(root: Path) -> Iterator[tuple[str, int, int, str]]:
    """Where, how much, how much is allowed, and of what."""
    for name, module in modules(root):
        lines = max((node.end_lineno or 0 for node in module.body), default=0)
        yield name, lines, FILE_LINES_MAX, "lines"
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                where = f"{name}:{node.name}"
                yield where, (node.end_lineno or 0) - node.lineno + 1, FUNCTION_LINES_MAX, "lines"
                if not is_cli(node):
                    yield where, parameters(node), PARAMETER_COUNT_MAX, "parameters"


def too_large(root: Path, excess: Mapping[str, int]) -> Iterator[str]:
    """Everything over its limit and over its entry in the table, and entries without need."""
    needed = set()
    for where, size, limit, unit in sizes(root):
        if size > limit:
            needed.add(where)
            if size > excess.get(where, limit):
                yield f"{where} has {size} {unit}, limit {limit}"
    yield from (f"{where} is within the limits: drop its entry" for where in excess.keys() - needed)


def test_everything_is_within_the_limits() -> None:
    """Files have at most 300 lines, functions 60 lines and 7 parameters; excess only shrinks."""
    assert list(too_large(ROOT, EXCESS)) == []


def test_each_limit_can_fail(tmp_path: Path) -> None:
    """A long file, a long function and a long parameter list are found."""
    plant(tmp_path, "long.py", "x = 1\n" * (FILE_LINES_MAX + 1))
    plant(tmp_path, "deep.py", "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX)
    plant(tmp_path, "wide.py", "class C:\n    def f(self, a, b, c, d, e, f, *g, h): ...\n")
    plant(tmp_path, "fits.py", "class C:\n    def f(self, a, b, c, d, e, f, *, g): ...\n")
    found = " ".join(too_large(tmp_path, {}))
    assert "long.py has 301" in found
    assert "deep.py:f has 61" in found
    assert "wide.py:f has 8 parameters" in found
    assert "fits.py" not in found


def test_excess_may_only_shrink(tmp_path: Path) -> None:
    """An entry covers its own figure, nothing above it, and must go when it is not needed."""
    plant(tmp_path, "long.py", "x = 1\n" * 310)
    assert list(too_large(tmp_path, {"long.py": 310})) == []
    assert list(too_large(tmp_path, {"long.py": 309})) == ["long.py has 310 lines, limit 300"]
    assert list(too_large(tmp_path, {"long.py": 310, "gone.py": 400})) == [
        "gone.py is within the limits: drop its entry"
    ]
