"""The kernel decorator."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recalld.scoring import warm
from recalld.scoring.kernel import kernel

PROGRAM = """
import sys
sys.path.insert(0, {view!r})
from recalld.scoring.warm import warm
warm()
print("warm")
"""


def test_an_unknown_argument_form_is_refused():
    """A misspelt argument type fails where the kernel is declared."""
    with pytest.raises(ValueError, match="float32"):
        kernel("float32[:]")


def test_warming_calls_every_kernel_without_error():
    """Every kernel accepts the types the index uses."""
    warm.warm()


def test_a_kernel_without_a_place_for_its_cache_compiles_in_memory(tmp_path):
    """Code whose file cannot be cached (here: there is no such file) still compiles."""
    source = (
        "def double_into(a, out):\n    for i in range(a.shape[0]):\n        out[i] = a[i] * 2\n"
    )
    scope: dict = {}
    exec(compile(source, "<no file>", "exec"), scope)
    compiled = kernel("f32[:]", "out f32[:]")(scope["double_into"])
    out = np.zeros(2, dtype=np.float32)
    compiled(np.array([1, 2], dtype=np.float32), out)
    assert out.tolist() == [2, 4]


def test_all_kernels_run_from_an_unwritable_cache(tmp_path):
    """With a cache directory that cannot be made, importing and warming still work."""
    view = Path(sys.modules["recalld.scoring"].__file__ or "").parents[1].parent
    blocked = tmp_path / "file"
    blocked.write_text("")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(blocked / "cache")}
    program = PROGRAM.format(view=str(view))
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "warm", done.stderr
