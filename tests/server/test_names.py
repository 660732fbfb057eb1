"""Names of calls and recalls."""

from itertools import islice

from recalld.server.names import unique_names


def test_no_name_comes_twice() -> None:
    """Names of two iterators, as of two runs of a server, are all different and of one form."""
    names = [*islice(unique_names(), 1_000), *islice(unique_names(), 1_000)]
    assert len(set(names)) == 2_000
    assert all(len(name) == 32 and int(name, 16) for name in names)
