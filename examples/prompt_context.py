"""Put what matters into the prompt of a model, under a hard token budget.

    python examples/prompt_context.py [HOST:PORT]

It talks to a running server (`make run`), writes for a user of its own, builds the context of one
request twice, once with room for everything and once without, and forgets that user's memories.
"""

# ruff: noqa: T201 (an example prints)
from __future__ import annotations

import sys
import uuid

from recalld.client import Client, NewMemory

KNOWN = (
    NewMemory(content="Allergic to peanuts", key="allergy"),
    NewMemory(content="Lives in Porto", key="location.home"),
    NewMemory(content="Likes spicy food", kind="preference"),
    NewMemory(content="Answers should be short", kind="preference", importance="high"),
    NewMemory(content="Booked the ferry to Madeira for 3 June", kind="event"),
    NewMemory(content="Menu of the farewell party: starters are chosen", kind="progress"),
    NewMemory(content="The party is held in the garden", kind="decision"),
    NewMemory(content="Owns a red bicycle", importance="low", stated_by="agent"),
)
REQUEST = "recommend a snack for the party"


def main(target: str = "127.0.0.1:7600") -> None:
    """Run the example against the server at `target`."""
    with Client(target, user_id=f"context-{uuid.uuid4().hex[:8]}") as memory:
        memory.remember(KNOWN)
        whole = memory.build_context(REQUEST)
        print(f"{whole.token_count} tokens, everything is in: {whole.complete}\n{whole.text}\n")

        # Eighty tokens have no room for all of it: the best comes first, and a share is kept
        # for what holds whatever is asked, such as an allergy.
        small = memory.build_context(REQUEST, token_budget=80)
        print(f"{small.token_count} tokens, everything is in: {small.complete}\n{small.text}\n")
        for item in small.omitted:
            print("left out:", memory.get(item.memory_id).content, f"({item.reason})")

        # The prompt: what never changes first, the memories next, the request last.
        messages = [
            {"role": "system", "content": f"You are a helpful host.\n\n{whole.text}"},
            {"role": "user", "content": REQUEST},
        ]
        print("messages:", [message["role"] for message in messages])
        memory.forget(all_memories=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
