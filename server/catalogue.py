"""Keys whose values add up where the writer does not say.

General knowledge about people, not about any data set.
"""

from __future__ import annotations

SET_KEYS = frozenset(
    {
        "allergy",
        "allergies",
        "child",
        "children",
        "disliked_food",
        "favorite_food",
        "favourite_food",
        "friend",
        "hobby",
        "hobbies",
        "interest",
        "interests",
        "medication",
        "pet",
        "pets",
        "skill",
        "skills",
        "spoken_language",
    }
)


def is_set_key(key: str) -> bool:
    """Whether a key holds a set of values by default."""
    return key in SET_KEYS
