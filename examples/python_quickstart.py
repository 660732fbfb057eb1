"""Remember, recall and build a context, with the Python client.

    python examples/python_quickstart.py [HOST:PORT]

It talks to a running server (`make run`), writes for a user of its own, so that it meets no other
memories, and forgets that user's memories at the end.
"""

# ruff: noqa: T201 (an example prints)
from __future__ import annotations

import sys
import uuid

from recalld.client import Client, NewMemory

KNOWN = (
    NewMemory(content="Allergic to peanuts", key="allergy", importance="high"),
    NewMemory(content="Likes spicy food", kind="preference"),
    NewMemory(content="Lives in Lisbon", key="location.home"),
)


def main(target: str = "127.0.0.1:7600") -> None:
    """Run the example against the server at `target`."""
    with Client(target, user_id=f"quickstart-{uuid.uuid4().hex[:8]}") as memory:
        memory.remember(KNOWN)

        # A newer value of the same key takes the place of the older one, which stays readable.
        moved = memory.remember("Moved to Porto", key="location.home")
        print("outcome:", moved.outcome)

        # Ranked answers, best first; an empty answer says why.
        found = memory.recall("is there anything I am allergic to?")
        for hit in found:
            print(f"{hit.score:.2f} {hit.band:4} {hit.memory.content}")
        if found.abstained:
            print("nothing recalled:", found.abstain_reason)

        # By key there is nothing to rank.
        print("home:", memory.get(key="location.home").content)

        # Ready for a prompt, never above the budget.
        context = memory.build_context("recommend a spicy snack", token_budget=300)
        print(f"{context.token_count} tokens:\n{context.text}")

        print("forgotten:", memory.forget(all_memories=True).count)


if __name__ == "__main__":
    main(*sys.argv[1:2])
