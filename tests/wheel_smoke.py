"""Smoke test of an installed wheel: starts a server, remembers, recalls, stops; exits 0.

Needs nothing but the installed package with its server extra.
"""

from __future__ import annotations

from recalld.client import Client
from recalld.client.testing import running_server

TEXT = "is allergic to peanuts"


def main() -> None:
    """Raises AssertionError when anything is not as it should be."""
    with running_server() as server:
        with Client(server.target, user_id="smoke") as client:
            stored = client.remember(TEXT, key="allergy")
            recalled = client.recall("peanuts")
            assert [hit.memory.content for hit in recalled.hits] == [TEXT], recalled
            assert recalled.hits[0].memory.id == stored.id
            assert client.get(key="allergy").content == TEXT
        assert server.stop() == 0


if __name__ == "__main__":
    main()
