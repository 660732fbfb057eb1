"""Names of calls and recalls."""

import itertools

from recalld.server.names import new_name


def test_no_name_comes_twice() -> None:
    """Names are all different, of one form, and do not count the calls between two of them."""
    names = [new_name() for _ in range(1_000)]
    assert len(set(names)) == 1_000
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in names)
    steps = {int(later, 16) - int(name, 16) for name, later in itertools.pairwise(names)}
    assert len(steps) == 999
