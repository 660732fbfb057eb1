"""Words that random requests are made of."""

from __future__ import annotations

KEYS = ("", "", "allergy", "location.home", "city", "hobby")
SUBJECTS = (
    "peanuts",
    "green tea",
    "chess",
    "Leeds",
    "York",
    "the piano",
    "喜欢喝茶",
    "Order E-1042",
)
VERBS = ("likes", "no longer likes", "is allergic to", "moved to", "plays", "asked about")
AGENTS = ("", "", "planner", "coder")
