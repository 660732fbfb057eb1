"""How the process of a server runs Python; each fact in a process of its own, which it changes."""

import subprocess
import sys


def told(program: str) -> list[str]:
    """Words that a program prints after the process was set up to serve."""
    setup = "import gc, sys, numpy\nfrom recalld.server import interpreter\ninterpreter.settle()\n"
    run = subprocess.run(
        [sys.executable, "-c", setup + program], check=True, capture_output=True, text=True
    )
    return run.stdout.split()


def test_products_of_matrices_take_one_thread() -> None:
    """No library of matrices keeps a second thread busy."""
    program = (
        "import threadpoolctl\n"
        "for pool in threadpoolctl.threadpool_info():\n"
        "    print(pool['user_api'], pool['num_threads'])\n"
    )
    words = told(program)
    assert dict(zip(words[::2], words[1::2], strict=True))["blas"] == "1"


def test_what_is_old_is_looked_at_once() -> None:
    """What a full collection found in use is in no later one."""
    program = (
        "gc.disable()\n"
        "kept = [[] for _ in range(100_000)]\n"
        "before = len(gc.get_objects())\n"
        "gc.collect()\n"
        "print(before > 100_000, len(gc.get_objects()) < 1_000)\n"
    )
    assert told(program) == ["True", "True"]


def test_growing_data_does_not_make_collections_longer() -> None:
    """While 400,000 objects are made and kept, no collection looks at more than the newest."""
    program = (
        "largest = [0]\n"
        "def look(phase, info):\n"
        "    if phase == 'start' and info['generation'] == 2:\n"
        "        largest[0] = max(largest[0], len(gc.get_objects()))\n"
        "gc.collect()\n"
        "gc.callbacks.append(look)\n"
        "kept = [[] for _ in range(400_000)]\n"
        "print(0 < largest[0] < 60_000)\n"
    )
    assert told(program) == ["True"]


def test_garbage_in_circles_still_goes() -> None:
    """What refers to itself and is used by nobody goes when later objects are made."""
    program = (
        "import weakref\n"
        "class Circle: pass\n"
        "one = Circle(); one.itself = one; seen = weakref.ref(one); del one\n"
        "kept = [[] for _ in range(1_000)]\n"
        "print(seen() is None)\n"
    )
    assert told(program) == ["True"]


def test_threads_hand_over_soon() -> None:
    """A thread that computes lets another one in after half a millisecond."""
    assert told("print(sys.getswitchinterval())") == ["0.0005"]


def test_garbage_that_a_collection_found_in_use_still_goes() -> None:
    """What a call holds in a circle goes after the call, though a full collection came between."""
    program = (
        "import weakref\n"
        "class Circle: pass\n"
        "gc.collect()\n"
        "one = Circle(); one.itself = one; seen = weakref.ref(one)\n"
        "gc.collect(); del one; gc.collect()\n"
        "print(seen() is None)\n"
    )
    assert told(program) == ["True"]
