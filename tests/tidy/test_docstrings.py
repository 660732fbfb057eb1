"""Every file says what it does, and every exception says when it is raised."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, dotted, modules, plant

RAISED = re.compile(r"\b[Rr]aised\b")
BUILT_IN = frozenset(name for name in vars(builtins) if name.endswith(("Error", "Exception")))


def undocumented_modules(root: Path) -> Iterator[str]:
    """Files without a module docstring."""
    for name, module in modules(root):
        if not ast.get_docstring(module):
            yield f"{name} has no module docstring"


def exceptions(root: Path) -> list[tuple[str, ast.ClassDef]]:
    """Exception classes of the product, with their files, found by their bases."""
    classes = [
        (name, node)
        for name, module in modules(root)
        if not name.startswith("tests/")
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
    ]
    known, count = set(BUILT_IN), 0
    while len(known) > count:  # Until no class adds another: bases may stand in later files.
        count = len(known)
        known |= {node.name for _, node in classes if bases(node) & known}
    return [(name, node) for name, node in classes if bases(node) & known]


def bases(node: ast.ClassDef) -> set[str]:
    """Names of the base classes, without their modules."""
    return {dotted(base).rpartition(".")[2] for base in node.bases}


def unexplained_exceptions(root: Path) -> Iterator[str]:
    """Exception classes that do not say when they are raised; bases of a family need not."""
    found = exceptions(root)
    families = {base for _, node in found for base in bases(node)}
    for name, node in found:
        is_base = node.name in families and bases(node) <= BUILT_IN
        if not is_base and not RAISED.search(ast.get_docstring(node) or ""):
            yield f"{name}: {node.name} does not say when it is raised"


def wordless_tests(root: Path) -> Iterator[str]:
    """Tests that do not say, in a sentence, which fact they hold."""
    for name, module in modules(root):
        if not Path(name).name.startswith("test_"):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if node.name.startswith("test") and not text.split("\n\n")[0].endswith("."):
                    yield f"{name}: {node.name} states no fact"


def test_every_test_states_a_fact() -> None:
    """Every test has a docstring that is a sentence."""
    assert list(wordless_tests(ROOT)) == []


def test_every_file_says_what_it_does() -> None:
    """Every Python file has a module docstring."""
    assert list(undocumented_modules(ROOT)) == []


def test_every_exception_says_when_it_is_raised() -> None:
    """Every exception class is documented "Raised ..."."""
    assert list(unexplained_exceptions(ROOT)) == []


def test_missing_docstrings_are_found(tmp_path: Path) -> None:
    """A file without a docstring and exceptions without "Raised" are found."""
    plant(
        tmp_path,
        "server/errors.py",
        "class A(Exception):\n    '''Base of the layer.'''\n"
        "class B(A):\n    '''Something is wrong.'''\n"
        "class C(B):\n    '''Raised when it is.'''\n"
        "class D(ValueError):\n    pass\n",
    )
    assert list(undocumented_modules(tmp_path)) == ["server/errors.py has no module docstring"]
    plant(tmp_path, "index/early.py", "class E(errors.B):\n    '''Bad luck.'''\n")
    found = [line.split()[1] for line in unexplained_exceptions(tmp_path)]
    assert found == ["E", "B", "D"]


def test_wordless_tests_are_found(tmp_path: Path) -> None:
    """A test without a docstring and one with a mere title are found."""
    plant(
        tmp_path,
        "tests/test_x.py",
        "def test_a(): pass\ndef test_b():\n    'Title'\ndef test_c():\n    'It holds.'\n",
    )
    found = [line.split()[1] for line in wordless_tests(tmp_path)]
    assert found == ["test_a", "test_b"]
