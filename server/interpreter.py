"""How this process runs Python, so that nothing beside a call keeps the call waiting for long.

Threads hand over soon, products of matrices take one thread, and the garbage collector looks at
what is old only once. Of the whole process, so only the command that serves asks for it.
"""

from __future__ import annotations

import gc
import sys

from threadpoolctl import threadpool_limits

SWITCH_S = 0.0005
"""How long a thread may keep Python to itself. A recall needs it several times and waits
as long each time while a purge computes beside it; of the usual 5 ms most of its time was made."""
OLD_COLLECTIONS_MAX = 3
"""Collections of the middle generation, each of some 7,000 new objects, before one that looks at
all that is new: up to 5 ms, where the usual 10 take 11."""
OLD_MIN = 10_000
"""Objects in use that are worth no second look, some 2 ms. Calls in progress are among them, and
what they hold in circles is never found once it is out of sight: done at every collection that
took a server 80 bytes a call. Memories that are loaded are many more."""


def settle() -> None:
    """Set the process up to serve; what loads NumPy's library of matrices has been imported.

    A second thread for a product gains nothing for the small ones of a call, waits in a loop for
    work, and is waited for: where all processors are busy a product of 0.1 ms took up to 330.
    """
    sys.setswitchinterval(SWITCH_S)
    threadpool_limits(limits=1, user_api="blas")
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, OLD_COLLECTIONS_MAX)
    gc.callbacks.append(_keep_old)


def _keep_old(phase: str, info: dict[str, int]) -> None:
    """Take what a full collection found in use out of the sight of the next ones.

    Memories stay for as long as their user is loaded, and go by the count of their uses: to look
    at all of them now and then stopped every call, by 22 ms where there were 40,000.
    """
    oldest = len(gc.get_threshold()) - 1
    if phase != "stop" or info["generation"] != oldest:
        return
    if len(gc.get_objects(oldest)) >= OLD_MIN:
        gc.freeze()
