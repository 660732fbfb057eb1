"""What goes into a context when not all fits, against a naive oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from recalld.index.hash_embedder import HashEmbedder
from recalld.server import tokens
from recalld.server.context_choice import Choice, Choosing
from recalld.server.context_format import HEADINGS, ORDER, Writing
from recalld.server.hits import RankedHit
from recalld.storage.record import Importance, Kind
from recalld.v1 import recall_service_pb2 as pb
from tests.server.context_readers import MARKDOWN
from tests.server.core import DAY_US, NOW_US
from tests.server.ranked import HIGH, LOW, hit, record

COUNT = HashEmbedder().count_tokens
WRITING = Writing(MARKDOWN, "en", NOW_US)
Section = pb.ContextSection
OVER, SAME = pb.DropReason.DROP_REASON_OVER_BUDGET, pb.DropReason.DROP_REASON_DUPLICATE


def choosing(budget: int) -> Choosing:
    """What fills a context of some tokens."""
    return Choosing(WRITING, tokens.tokenizer("", COUNT), budget)


def taken(choice: Choice) -> set[int]:
    """Labels of what is in."""
    return {item.hit.record.label for unit in choice.page.taken for item in unit}


@st.composite
def ranked(draw: st.DrawFn) -> list[RankedHit]:
    """Hits of any kind, best first; some contradict each other."""
    hits = []
    for label in range(1, draw(st.integers(1, 25)) + 1):
        made = record(
            f"memory {label} " + "word " * draw(st.integers(0, 30)),
            label,
            kind=draw(st.integers(1, 8)),
            importance=draw(st.integers(1, 4)),
            key=draw(st.sampled_from(["", "", "allergy", "place"])),
            conflict_group=draw(st.sampled_from(["", "", "", "", "one", "two"])),
            confidence=draw(st.sampled_from([1.0, 0.3])),
        )
        hits.append(hit(made, 1 / label, draw(st.sampled_from([HIGH, LOW]))))
    return hits


def naive_section(one: RankedHit) -> int:
    """Where a memory stands, said once more."""
    about = one.record
    if about.conflict_group:
        return Section.CONTEXT_SECTION_CONFLICTS
    pinned = about.importance == Importance.PINNED
    if about.confidence < 0.5 and not pinned:
        return Section.CONTEXT_SECTION_POSSIBLY_RELEVANT
    if one.band == LOW and naive_class(one) == math.inf:
        return Section.CONTEXT_SECTION_POSSIBLY_RELEVANT
    return [0, 1, 4, 1, 5, 2, 3, 4, 5][about.kind]


def naive_class(one: RankedHit) -> float:
    """0 pinned, 1 a constraint, 2 important; else infinite."""
    about = one.record
    if about.importance == Importance.PINNED:
        return 0
    if about.kind not in (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE) or about.confidence < 0.5:
        return math.inf
    if about.key == "allergy":
        return 1
    return 2 if about.importance == Importance.HIGH else math.inf


def naive_size(groups: Sequence[Sequence[RankedHit]]) -> int:
    """Tokens of a context with these in it, counted on its whole text."""
    filed: dict[int, list[str]] = {}
    numbers = {"one": 0, "two": 0}
    for one in sorted((h for g in groups for h in g), key=lambda h: h.record.label):
        mark = " conflict 9" if one.record.conflict_group in numbers else ""
        line = f"- (0d user{mark}) {one.record.content.strip()}"
        filed.setdefault(naive_section(one), []).append(line)
    text = WRITING.render([*filed.items()])
    return max(COUNT(text), math.ceil(len(text) / 4))


def naive_choice(hits: Sequence[RankedHit], budget: int) -> set[int]:
    """The rule, by trying whole texts."""
    claims = [h for h in hits if h.band == HIGH] + [h for h in hits if h.band == LOW]
    groups: list[list[RankedHit]] = []
    for one in claims:
        same = [g for g in groups if g[0].record.conflict_group == one.record.conflict_group != ""]
        if same:
            same[0].append(one)
        else:
            groups.append([one])
    inside: list[list[RankedHit]] = []

    def offer(group: list[RankedHit], limit: int) -> None:
        if group not in inside and naive_size([*inside, group]) <= limit:
            inside.append(group)

    frame = naive_size([])
    standing = [g for n in (0, 1, 2) for g in groups if min(map(naive_class, g)) == n]
    if standing and all(one.band == LOW for one in groups[0]):
        offer(standing[0], budget)
    offer(groups[0], budget)
    reserved = naive_size(inside) + int((budget - frame) / 4)
    for group in standing[:1]:
        offer(group, budget)
    for group in standing[1:]:
        offer(group, min(reserved, budget))
    for group in groups:
        offer(group, budget)
    return {h.record.label for g in inside for h in g}


@given(ranked(), st.integers(64, 700))
def test_the_rule(hits: list[RankedHit], budget: int) -> None:
    """What is taken is what the rule takes when every text is counted as a whole."""
    choice = choosing(budget).best_of(hits)
    assert taken(choice) == naive_choice(hits, budget)
    text = choice.page.text()
    assert COUNT(text) <= budget
    omitted = [item.hit.record.label for item, reason in choice.omitted if reason == OVER]
    assert sorted([*taken(choice), *omitted]) == [h.record.label for h in hits]
    assert choice.is_all == (not omitted)


@given(ranked(), st.integers(64, 1500))
def test_everything_or_nothing(hits: list[RankedHit], budget: int) -> None:
    """Everything goes in when it fits; sure or not, better or worse makes no difference then."""
    choice = choosing(budget).all_of(hits)
    again = choosing(budget).all_of(
        [hit(h.record, 0.5, LOW) for h in sorted(hits, key=lambda h: -h.record.label)]
    )
    if choice is None:
        assert again is None
        return
    assert again is not None
    assert taken(choice) == {h.record.label for h in hits}
    assert not choice.omitted
    assert choice.page.text() == again.page.text()


def test_an_allergy_among_trifles() -> None:
    """A constraint that ranks last is in, however many better ranked trifles there are."""
    trifles = [hit(record(f"trifle {n} " + "bla " * 9, n), 0.9 - n / 1000) for n in range(1, 200)]
    allergy = hit(record("Allergic to peanuts", 999, key="allergy"), 0.001, LOW)
    assert 999 in taken(choosing(200).best_of([*trifles, allergy]))
    plain = hit(record("Allergic to peanuts", 999), 0.001, LOW)
    assert 999 not in taken(choosing(200).best_of([*trifles, plain]))


def test_important_ones_do_not_crowd_out_the_request() -> None:
    """However many standing memories there are, most of the budget belongs to the request."""
    pinned = [
        hit(record(f"pinned {n} " + "bla " * 9, n, importance=Importance.PINNED), 0.001, LOW)
        for n in range(1, 100)
    ]
    asked = [hit(record(f"asked {n} " + "bla " * 9, 500 + n), 0.9 - n / 1000) for n in range(50)]
    labels = taken(choosing(600).best_of([*asked, *pinned]))
    assert len([label for label in labels if label >= 500]) >= 2 * len(
        [label for label in labels if label < 500]
    )
    assert any(label < 500 for label in labels)


def test_a_conflict_is_whole() -> None:
    """Of memories that contradict each other all are in, side by side, or none is."""
    pair = [
        hit(record("lives in Leeds " + "bla " * 20, 1, conflict_group="g"), 0.9),
        hit(record("lives in York " + "bla " * 20, 3, conflict_group="g"), 0.001, LOW),
    ]
    between = hit(record("has a cat", 2), 0.5)
    hits = [pair[0], between, pair[1]]
    whole = choosing(150).best_of(hits)
    assert taken(whole) == {1, 2, 3}
    lines = whole.page.text().splitlines()
    assert [line.split(")")[0] for line in lines if "lives" in line] == [
        "- (0d user conflict 1"
    ] * 2
    assert f"## {HEADINGS['en'][ORDER[6]]}" in lines
    small = choosing(70).best_of(hits)
    assert taken(small) == {2}
    assert {item.hit.record.label for item, _ in small.omitted} == {1, 3}


def test_two_conflicts_stay_apart() -> None:
    """Members of one conflict stand together and share a number."""
    hits = [
        hit(record(text, label, conflict_group=group))
        for label, text, group in [(1, "a", "x"), (2, "b", "y"), (3, "c", "x"), (4, "d", "y")]
    ]
    lines = [line for line in choosing(300).best_of(hits).page.text().splitlines() if "- " in line]
    assert lines == [
        "- (0d user conflict 1) a",
        "- (0d user conflict 1) c",
        "- (0d user conflict 2) b",
        "- (0d user conflict 2) d",
    ]


def test_near_duplicates_are_folded() -> None:
    """The same thing said twice stands once; the other one is omitted as a duplicate."""
    hits = [hit(record("likes tea", 1), 0.9), hit(record("The user likes tea.", 2), 0.8)]
    for choice in (choosing(300).best_of(hits), choosing(300).all_of(hits)):
        assert choice is not None
        assert taken(choice) == {2}
        assert [(item.hit.record.label, reason) for item, reason in choice.omitted] == [(1, SAME)]
        assert choice.is_all


def test_order_within_sections() -> None:
    """Standing sections go by kind, key and age of the entry, possibly relevant ones by rank."""
    facts = [
        hit(record("state", 1, kind=Kind.STATE), 0.9),
        hit(record("b late", 2, key="b", create_time_us=NOW_US), 0.8),
        hit(record("b early", 3, key="b", create_time_us=NOW_US - DAY_US), 0.7),
        hit(record("a", 4, key="a"), 0.6),
    ]
    unsure = [
        hit(record(f"unsure {label}", label), 0.1 - label / 1000, LOW) for label in range(9, 5, -1)
    ]
    unsure.sort(key=lambda one: -one.score)
    page = choosing(600).best_of([*facts, *unsure]).page
    labels = [[item.hit.record.label for item in items] for _, items in page.sections()]
    assert labels == [[4, 3, 2, 1], [6, 7, 8, 9]]
    assert all(a.score > b.score for a, b in pairwise(unsure))


def test_what_is_past_is_not_told_as_a_fact() -> None:
    """What is past its time, or a guess more likely wrong, is only possibly relevant."""
    hits = [
        hit(record("old", 1, kind=Kind.STATE), past=True),
        hit(record("new", 2, kind=Kind.STATE)),
        hit(record("old fact", 3, event_time_us=NOW_US - 900 * DAY_US)),
        hit(record("guess", 4, confidence=0.49)),
    ]
    whole = choosing(600).all_of(hits)
    assert whole is not None
    filed = {s: [i.hit.record.label for i in items] for s, items in whole.page.sections()}
    assert filed == {
        Section.CONTEXT_SECTION_FACTS: [3, 2],
        Section.CONTEXT_SECTION_POSSIBLY_RELEVANT: [4, 1],
    }


def test_a_tokenizer_that_joins_lines() -> None:
    """Where a text counts more than its lines, what was taken last is given back."""

    def count(text: str) -> int:
        """A tokenizer for which every line break but the last costs two."""
        return len(text.split()) + 2 * text.rstrip("\n").count("\n")

    hits = [hit(record(f"memory {n} of some", n), 1 / n) for n in range(1, 30)]
    page = Choosing(WRITING, tokens.tokenizer("embedder", count), 120).best_of(hits).page
    assert 100 < count(page.text()) <= 120
    assert {item.hit.record.label for unit in page.taken for item in unit} == set(
        range(1, len(page.taken) + 1)
    )
