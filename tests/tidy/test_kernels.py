"""Kernels are serial and exact, and know Numba through one decorator only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, dotted, is_product, modules, plant

# `parallel` can abort a process that calls from several threads; fast-math makes NaN and infinity
# mean nothing. Only the order of additions may be left to the compiler.
BANNED_OPTIONS = frozenset({"parallel", "fastmath", "inline", "forceobj"})
BANNED_NAMES = frozenset({"prange", "numba.prange", "numba.objmode"})
HOME = "scoring/kernel.py"


def is_harmless(value: ast.expr) -> bool:
    """Whether an option only lets sums be added in another order; NaN keeps its meaning."""
    named = (
        {item.value for item in value.elts if isinstance(item, ast.Constant)}
        if isinstance(value, ast.Set)
        else set()
    )
    return named == {"reassoc", "contract"}


def kernels(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """Functions under the `kernel` decorator, with the call that makes it."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and dotted(decorator.func) == "kernel":
                    yield node, decorator


def bad_options(root: Path) -> Iterator[str]:
    """Options and names that no kernel may use."""
    for name, module in modules(root):
        if not is_product(name, root):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.Name | ast.Attribute) and dotted(node) in BANNED_NAMES:
                yield f"{name}:{node.lineno} uses {dotted(node)}"
            elif isinstance(node, ast.Dict) and name == HOME:
                keys = {
                    str(key.value)
                    for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Constant) and not is_harmless(value)
                }
                yield from (f"{name}:{node.lineno} sets {k}" for k in sorted(keys & BANNED_OPTIONS))
            elif isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in (
                *("njit", "jit", "vectorize", "guvectorize", "kernel"),
            ):
                given = {keyword.arg for keyword in node.keywords}
                yield from (f"{name}:{node.lineno} sets {k}" for k in given & BANNED_OPTIONS)


def wrong_signatures(root: Path) -> Iterator[str]:
    """Kernels whose decorator does not name one type per parameter, or whose names mislead."""
    for name, module in modules(root):
        for function, decorator in kernels(module):
            types = [a.value for a in decorator.args if isinstance(a, ast.Constant)]
            if len(types) != len(function.args.args):
                yield f"{name}:{function.name} names {len(types)} types for its parameters"
            writes = any(str(kind).startswith("out ") for kind in types)
            if writes != function.name.endswith("_into"):
                yield f"{name}:{function.name}: kernels end in _into exactly when they write"


def foreign_calls(root: Path) -> Iterator[str]:
    """Kernels that call a kernel of another file: the compiled cache would not see it change."""
    homes = {
        function.name: name for name, module in modules(root) for function, _ in kernels(module)
    }
    for name, module in modules(root):
        for function, _ in kernels(module):
            for node in ast.walk(function):
                called = dotted(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
                if homes.get(called, name) != name:
                    yield f"{name}:{function.name} calls {called} of {homes[called]}"


def test_kernels_keep_their_rules() -> None:
    """Kernels set no dangerous option, name every type and call kernels of their own file only."""
    assert [*bad_options(ROOT), *wrong_signatures(ROOT), *foreign_calls(ROOT)] == []


def test_there_are_kernels_to_check() -> None:
    """The checkers see the kernels of the scoring layer."""
    assert sum(len(list(kernels(module))) for _, module in modules(ROOT)) >= 5


def test_bad_kernels_are_found(tmp_path: Path) -> None:
    """Each rule for kernels can fail."""
    plant(
        tmp_path,
        "pyproject.toml",
        '[tool.setuptools.package-dir]\n"recalld.scoring" = "scoring"\n',
    )
    plant(
        tmp_path, HOME, "options = {'nogil': True, 'fastmath': True}\nnumba.njit(parallel=True)\n"
    )
    plant(
        tmp_path,
        "scoring/a.py",
        "@kernel('f32[:]')\ndef total(values):\n    return b_into(values)\n"
        "@kernel('f32[:]')\ndef wrong_into(values, out):\n    for i in prange(3): pass\n",
    )
    plant(tmp_path, "scoring/b.py", "@kernel('out f32[:]')\ndef b_into(values):\n    pass\n")
    assert len(list(bad_options(tmp_path))) == 3
    assert len(list(wrong_signatures(tmp_path))) == 2
    assert list(foreign_calls(tmp_path)) == ["scoring/a.py:total calls b_into of scoring/b.py"]
