"""What statements are about: whether two are about neighbours, like rooms 301 and 302, or people.

Pure functions of claims, by words alone, zh and en. What stands before the verb tells of which
thing something is said, what follows says it: "the lamp of room 12 flickers" names one of many
lamps, "I live in room 12" says where. So numbers, identifiers, names, kin and colours before the
verb tell things apart, and after it only where they name a place beside a state, as in "dogs are
allowed in room 12" or "there is a printer on floor 3". Chinese: `recalld.server.subjects_zh`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from recalld.index.analyzer import STOP_WORDS
from recalld.server import subjects_zh
from recalld.server.claims import HAN, Claim
from recalld.server.grammar import (
    ADVERBS,
    AUXILIARIES,
    BEING,
    COLOURS,
    GENERAL,
    KIN,
    MEASURES,
    NAMELESS,
    NUMBERING,
    ONLY_ONE,
    ORDINALS,
    OWNERS,
    PAST,
    PLURAL_SORTS,
    PRONOUNS,
    STATES,
    UNITS,
)
from recalld.server.sensitive import PLACEHOLDER
from recalld.server.subjects_zh import Subject

SUBJECT_WORDS_MAX = 12
"""Words before the verb; where none is found among so many, the statement has no plain subject."""

_WORD = re.compile(r"[#№]?\w(?:[\w'’@.:/+-]*\w)?")
_VERB = re.compile(r"[a-z]{2,}(?:(?<![sui])s|ed)")
_APPOSITION = re.compile(r"^([A-Z][\w'-]+), ((?:the|our|my|a) [^,]{1,40}), ")
"""A name and what it is: "Tomas, the plumber, comes" is read as "the plumber Tomas comes"."""
_NO_VERBS = STOP_WORDS | PLURAL_SORTS | OWNERS
_PLACING = frozenset({"in", "on", "at", "for", "with"})
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


def are_apart(one: Claim, other: Claim) -> bool:
    """Whether both are about things of one sort, of different numbers or names."""
    mine, its = subject_of(one), subject_of(other)
    if mine.is_identity and its.is_identity:
        return False
    shared = mine.labels.keys() & its.labels.keys()
    if any(mine.labels[sort].isdisjoint(its.labels[sort]) for sort in shared):
        return True
    if mine.sort != its.sort:
        return False
    names, other_names = mine.names - its.names, its.names - mine.names
    if not names or not other_names:
        return False
    speaks_of_it = any(_is_said(name, other) for name in names)
    return not speaks_of_it and not any(_is_said(name, one) for name in other_names)


def subject_of(claim: Claim) -> Subject:
    """What a statement is about."""
    text = unicodedata.normalize("NFKC", claim.text).strip()
    if hidden := PLACEHOLDER.match(text):
        # Two placeholders without a tag may stand for one thing or for two; nobody knows which.
        sign = frozenset({hidden["tag"]} if hidden["tag"] else ())
        is_identity = text[hidden.end() :].lstrip().startswith(("是", "is my ", "is our "))
        return Subject("", {hidden["label"]: sign}, is_identity=is_identity)
    if HAN.search(text):
        return subjects_zh.subject_of(text)
    words = _WORD.findall(_APPOSITION.sub(r"\2 \1 ", text))
    if [word.lower() for word in words[:2]] in (["there", "is"], ["there", "are"]):
        return Subject("there", _labels(words, 2, len(words)))
    verb = _verb_place(words)
    subject, said = words[:verb], [word.lower() for word in words[verb:]]
    labels = _labels(words, 0, min(verb, len(words) - 1)) | _circumstances(words, verb)
    is_identity = len(said) > 1 and said[0] in BEING and said[1] in ONLY_ONE
    sort, names = _named(subject) if said else ("", frozenset())
    return Subject(sort, labels, names, is_identity)


def _verb_place(words: Sequence[str]) -> int:
    """Where the predicate begins; at the end where no verb is found."""
    for place, word in enumerate(words[:SUBJECT_WORDS_MAX]):
        lower = word.lower().replace("’", "'")
        if lower in AUXILIARIES or lower in PRONOUNS or lower.endswith("n't"):
            return place
        # A first word is a verb where no subject is written ("Uses Go"), unless a verb follows.
        after = words[place + 1].lower() if place + 1 < len(words) else ""
        is_noun = lower in _NO_VERBS or after in AUXILIARIES
        may_be_verb = (place == 0 or word.islower()) and not is_noun
        if may_be_verb and (lower in PAST or _VERB.fullmatch(lower)):
            return place
    return len(words)


def _labels(words: Sequence[str], start: int, stop: int) -> dict[str, frozenset[str]]:
    """Sorts of things among words from `start` to `stop`, and the numbers or signs they bear."""
    found: dict[str, frozenset[str]] = {}
    for place in range(start, stop):
        for sort, sign in _label(words, place):
            found[sort] = found.get(sort, frozenset()) | {sign}
    return found


def _label(words: Sequence[str], place: int) -> Iterator[tuple[str, str]]:
    """The thing that a word numbers, and the number, if it numbers one."""
    word = words[place].lower()
    after = words[place + 1].lower() if place + 1 < len(words) else ""
    if word in ORDINALS or word in COLOURS or _ORDINAL.fullmatch(word):
        yield f"{after} of its kind", word
    elif "@" in word[1:]:
        yield "@", word
    elif any(c.isdigit() for c in word) and not (after in UNITS or ":" in word):
        before = [w.lower() for w in words[max(0, place - 2) : place]]
        while before and before[-1] in NUMBERING and before[:-1]:
            before.pop()
        noun = before[-1] if before else ""
        is_code = word[0] in "#№" or not word.isdigit()
        if noun in MEASURES or (noun in STOP_WORDS and not is_code) or not (noun or is_code):
            return
        yield "" if noun in STOP_WORDS else noun, word.strip("#№")


def _circumstances(words: Sequence[str], verb: int) -> dict[str, frozenset[str]]:
    """What a state is limited to: "is forbidden in room 12", "are fine for Mia"."""
    said = [word.lower() for word in words[verb:]]
    if not said or said[0] not in BEING | {f"{word}n't" for word in BEING}:
        return {}
    rest = [word for word in said[1:] if word not in ADVERBS and word != "not"]
    place = next((i for i, word in enumerate(said) if i and word in _PLACING), len(said))
    if not rest or rest[0] not in STATES or place + 1 >= len(said):
        return {}
    names = [w.lower() for w in words[verb + place + 1 :] if w[0].isupper()]
    named = {f"{said[place]} name": frozenset(names)} if names else {}
    return _labels(words, verb + place + 1, len(words)) | named


def _named(subject: Sequence[str]) -> tuple[str, frozenset[str]]:
    """The sort of thing before the verb, and the names that it bears."""
    words = [word for word in subject if word.lower() not in ADVERBS]
    if words and words[0].lower() in OWNERS:
        words = words[1:]
        if len(words) == 1 and (kin := KIN.get(words[0].lower())):
            return "kin", frozenset({kin})
    # A capitalised word before a number is the sort of thing, which its label names.
    names = [
        word.lower().replace("’", "'").removesuffix("'s")
        for word, after in zip(words, (*words[1:], ""), strict=False)
        if word[0].isupper() and not any(map(str.isdigit, after))
    ]
    if not names or names[0] in STOP_WORDS or names[0] in NAMELESS:
        return "", frozenset()
    sort = [word for word in words if word.islower() and word not in STOP_WORDS]
    return " ".join(sort), frozenset(names) - GENERAL


def _is_said(name: str, claim: Claim) -> bool:
    """Whether a text holds a name, as a whole word where words end."""
    pattern = re.escape(name) if HAN.match(name) else rf"\b{re.escape(name)}\b"
    return bool(re.search(pattern, claim.folded))
