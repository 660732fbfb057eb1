"""What calls wait for is loaded first."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from recalld.server.load_priority import LoadPriority

WAIT_S = 20


@given(st.sets(st.sampled_from("abc")), st.sampled_from("abc"))
def test_what_is_wanted_never_waits(wanted: set[str], key: str) -> None:
    """A load that a call waits for goes on at once, and so does any while none is wanted."""
    priority = LoadPriority()
    for one in wanted:
        priority.want(("t", one))
    if key in wanted or not wanted:
        priority.give_way(("t", key))
    assert priority.is_wanted(("t", key)) == (key in wanted)


def test_what_nobody_waits_for_goes_on_once_it_is_wanted_or_alone() -> None:
    """A load stands still while another is wanted, until that ends or a call wants this one too."""
    for release in (
        lambda priority: priority.done(("t", "ann")),
        lambda priority: priority.want(("t", "bob")),
    ):
        priority = LoadPriority()
        priority.want(("t", "ann"))
        priority.want(("t", "ann"))
        went_on = threading.Event()

        def load(priority: LoadPriority = priority, went_on: threading.Event = went_on) -> None:
            priority.give_way(("t", "bob"))
            went_on.set()

        thread = threading.Thread(target=load)
        thread.start()
        assert not went_on.wait(0.02)
        release(priority)
        assert went_on.wait(WAIT_S)
        thread.join()
