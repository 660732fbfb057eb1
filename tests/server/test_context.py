"""BuildContext: never over its budget, and nothing in it but what holds for this user."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.server.errors import InvalidRequest
from recalld.v1 import recall_service_pb2 as pb
from tests.server.context_readers import JSON, MARKDOWN, XML, read
from tests.server.contexts import build, included
from tests.server.core import NOW_US, Core, condition, memory, must, opened

Section = pb.ContextSection
Drop = pb.DropReason
WORDS = {
    "zh": list("我们喜欢喝茶住在成都写代码每天早上跑步不吃花生，。"),
    "en": ["we", "like", "tea", "and", "live", "in", "a", "small", "town", "writing", "code"],
    "emoji": ["🍵", "🙂", "👨\u200d👩\u200d👧", "❤️", "🇨🇳", "👍🏽"],
    "mixed": [
        "订单",
        "DD20261118-7742",
        "tea",
        "喝茶",
        "v2.3.1",
        "<b>",
        "&",
        '"',
        "Ünïcode",
        "#\n-",
    ],
}


def sentence(language: str, seed: int, count: int) -> str:
    """A text of some words of a language."""
    chosen = random.Random(seed).choices(WORDS[language], k=count)
    return ("" if language == "zh" else " ").join(chosen)


def tokens_of(core: Core, text: str, tokenizer: str) -> int:
    """Tokens of a text, counted once more."""
    own = core.embedder.count_tokens(text)
    wide = sum("\u2e80" <= letter <= "\u9fff" or "\uff00" <= letter <= "\uffef" for letter in text)
    rough = wide + math.ceil((len(text) - wide) / 4)
    return own if tokenizer == "embedder" else max(own, rough)


@settings(max_examples=40)
@given(
    languages=st.lists(st.sampled_from(sorted(WORDS)), min_size=1, max_size=4),
    form=st.sampled_from([MARKDOWN, XML, JSON]),
    budget=st.integers(64, 4000),
    count=st.integers(1, 60),
    length=st.integers(1, 60),
    seed=st.integers(0, 999),
    tokenizer=st.sampled_from(["", "conservative", "embedder"]),
)
async def test_never_over_the_budget(
    languages: list[str],
    form: int,
    budget: int,
    count: int,
    length: int,
    seed: int,
    tokenizer: str,
) -> None:
    """Whatever is stored, the text counts at most the budget, says its count and parses back."""
    async with opened() as core:
        made = [
            memory(
                sentence(languages[n % len(languages)], seed + n, length) + f" {n}",
                kind=1 + n % 8,
                importance=1 + (seed + n) % 4,
            )
            for n in range(count)
        ]
        await core.remember("u", *made)
        answer = await build(
            core,
            sentence(languages[0], seed, 6),
            token_budget=budget,
            format=form,
            tokenizer=tokenizer,
            recall={"min_score": 0.0},
        )
        assert answer.token_count == tokens_of(core, answer.text, tokenizer) <= budget
        assert answer.tokenizer == (tokenizer or "conservative")
        omitted = {item.memory_id for item in answer.omitted}
        assert not included(answer) & omitted
        assert min(count, budget // 3) <= len(included(answer)) + len(omitted) <= count
        assert answer.complete == (len(included(answer)) == count)
        texts = [item.text for item in answer.items]
        assert all(text.removesuffix(",") in answer.text for text in texts)
        if answer.text:
            assert len(read(answer.text, form).items()) == len(answer.items)


async def test_the_best_is_in_a_small_budget(core: Core) -> None:
    """A budget that holds one memory holds the best one, pinned trifles or not."""
    trifles = [memory(f"紫色的墙 {n}" + "很好" * 12, importance=4) for n in range(10)]
    await core.remember("u", memory("和陶艺老师约好周四下午三点在河边工作室见面"), *trifles)
    answer = await build(core, "周四陶艺老师约在几点", token_budget=80)
    assert "周四下午三点" in answer.text


@pytest.mark.parametrize("bound", [{"k": 2}, {"min_score": 0.3}])
async def test_bounded_is_not_complete(core: Core, bound: dict[str, Any]) -> None:
    """A context of everything that a bound leaves does not say that it holds everything."""
    await core.remember("u", *[memory(f"long note {n} " + "of bricks " * 40) for n in range(9)])
    await core.remember("u", memory("green tea"))
    answer = await build(core, "green tea", recall=bound)
    assert "green tea" in answer.text
    assert not answer.complete


async def test_a_large_store_fills_the_budget(core: Core) -> None:
    """What the cut of a recall leaves out still goes in while there is room."""
    await core.remember("u", memory("likes green tea"))
    await core.remember("u", *[memory(f"note {n} about a red bicycle") for n in range(250)])
    answer = await build(core, "green tea")
    assert 560 < answer.token_count <= 600
    assert not answer.complete
    assert "likes green tea" in answer.text
    bounded = await build(core, "green tea", recall={"k": 3})
    assert len(bounded.items) + len(bounded.omitted) <= 3


async def test_complete_holds_everything_current(core: Core) -> None:
    """When everything current fits, all of it goes in, matching or not, and is said to."""
    await core.remember("u", memory("likes tea"), memory("lives in Leeds"), memory("has a cat"))
    await core.remember("u", memory("old", key="k"), memory("new", key="k"))
    answer = await build(core)
    assert answer.complete
    assert {item.memory_id for item in answer.items} == {
        item.id for item in await core.listed("u", 1)
    }
    assert list(answer.omitted) == []


async def test_narrowed_is_not_complete(core: Core) -> None:
    """A context that a filter or the kinds narrow never says that it holds everything."""
    await core.remember("u", memory("likes tea"), memory("drank tea", kind=4))
    for narrow in ({"kinds": [1]}, {"filter": must(condition(kind={"values": [1]}))}):
        answer = await build(core, recall=narrow)
        assert len(answer.items) == 1
        assert not answer.complete


async def test_not_everything_fits(core: Core) -> None:
    """Over the budget the best hits go in whole, and what did not fit is named, best first."""
    made = [memory(f"tea number {n} " + "and more words " * 12) for n in range(30)]
    await core.remember("u", *made)
    answer = await build(core, token_budget=200, recall={"k": 10, "min_score": 0.0})
    assert not answer.complete
    assert 0 < len(answer.items) < 10
    assert len(answer.items) + len(answer.omitted) == 10
    over = pb.DropReason.DROP_REASON_OVER_BUDGET
    assert {item.reason for item in answer.omitted} == {over}
    assert not answer.recall.hits
    assert answer.recall.recall_id


async def test_nothing_matters(core: Core) -> None:
    """When nothing passes the cut only what binds is in; without any the text is empty."""
    await core.remember("u", memory("likes tea"))
    answer = await build(core, "opening hours of the town hall")
    assert (answer.text, answer.token_count, answer.complete) == ("", 0, False)
    assert answer.recall.abstained
    await core.remember("u", memory("allergic to nuts", key="allergy"))
    binding = await build(core, "opening hours of the town hall")
    assert [item.text for item in binding.items] == ["- (0d user) allergic to nuts"]
    assert not binding.complete
    assert binding.recall.abstained
    empty = await build(core, user="nobody")
    assert (empty.text, list(empty.items)) == ("", [])


SECTIONS = [
    (1, Section.CONTEXT_SECTION_FACTS, "Facts and constraints"),
    (2, Section.CONTEXT_SECTION_PREFERENCES, "Preferences"),
    (3, Section.CONTEXT_SECTION_FACTS, "Facts and constraints"),
    (4, Section.CONTEXT_SECTION_BACKGROUND, "Background"),
    (5, Section.CONTEXT_SECTION_PROGRESS, "Work in progress"),
    (6, Section.CONTEXT_SECTION_DECISIONS, "Decisions taken"),
    (7, Section.CONTEXT_SECTION_PREFERENCES, "Preferences"),
    (8, Section.CONTEXT_SECTION_BACKGROUND, "Background"),
]


@pytest.mark.parametrize(("kind", "section", "heading"), SECTIONS)
async def test_each_kind_has_its_section(core: Core, kind: int, section: int, heading: str) -> None:
    """A memory stands in the section of its kind, with its age and source."""
    await core.remember("u", memory("likes tea", kind=kind, stated_by=2))
    answer = await build(core)
    [item] = answer.items
    assert item.section == section
    assert f"## {heading}" in answer.text
    assert item.text == "- (0d inferred) likes tea"


async def test_contradictions_have_a_section(core: Core) -> None:
    """Memories that contradict each other stand together, to be confirmed."""
    await core.remember("u", memory("lives in Leeds", key="home", event_time=NOW_US))
    await core.remember("u", memory("lives in York", key="home", stated_by=2))
    trifles = [memory(f"Leeds trifle {n} " + "and more words " * 12) for n in range(60)]
    for recall in ({}, {"k": 1}, {"min_score": 0.4}):
        answer = await build(core, "lives in Leeds", recall=recall)
        conflicting = [
            item for item in answer.items if item.section == Section.CONTEXT_SECTION_CONFLICTS
        ]
        assert [item.text for item in conflicting] == [
            "- (0d user conflict 1) lives in Leeds",
            "- (0d inferred conflict 1) lives in York",
        ]
        assert "confirm with the user" in answer.text
        await core.remember("u", *trifles)


@pytest.mark.parametrize(
    ("text", "language", "title"),
    [
        ("喜欢喝什么茶", "", "用户记忆"),
        ("which tea", "", "User memories"),
        ("which tea", "zh", "用户记忆"),
        ("喜欢喝什么茶", "en", "User memories"),
    ],
)
async def test_language_of_headings(core: Core, text: str, language: str, title: str) -> None:
    """Headings are in the language asked for, else in the request's."""
    await core.remember("u", memory("likes tea 茶"))
    answer = await build(core, text, language=language, recall={"min_score": 0.0})
    assert answer.text.startswith(title)


async def test_default_budget(core: Core) -> None:
    """Without a budget it is 600 tokens."""
    await core.remember("u", *[memory(f"tea {n} " + "word " * 100) for n in range(30)])
    answer = await build(core, recall={"min_score": 0.0})
    assert 300 < answer.token_count <= 600


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"token_budget": 63}, "token_budget"),
        ({"token_budget": -1}, "token_budget"),
        ({"token_budget": 32769}, "token_budget"),
        ({"tokenizer": "gpt"}, "tokenizer"),
        ({"format": 4}, "format"),
        ({"language": "fr"}, "language"),
        ({"recall": {"k": 0}}, "recall.k"),
        ({"recall": {"kinds": [77]}}, "recall.kinds"),
    ],
)
async def test_refusals(core: Core, fields: dict[str, Any], named: str) -> None:
    """A bad field is refused by its path."""
    with pytest.raises(InvalidRequest) as caught:
        await build(core, **fields)
    assert caught.value.field == named


@pytest.mark.parametrize("form", [MARKDOWN, XML, JSON])
@pytest.mark.parametrize(
    ("allergy", "request_text", "chatter"),
    [
        (
            "Severe peanut allergy",
            "suggest a snack for tonight",
            "I bought a snack bowl, number {n}",
        ),
        ("对花生严重过敏", "今晚推荐点零食", "买了第{n}个装零食的碗"),
    ],
)
async def test_the_least_budget_holds_an_allergy(
    core: Core, form: int, allergy: str, request_text: str, chatter: str
) -> None:
    """In 64 tokens there is room for what always binds, in every format and both languages."""
    await core.remember("u", memory(allergy, kind=1, importance=3, key="health.allergy"))
    await core.remember("u", *(memory(chatter.format(n=n), kind=4) for n in range(30)))
    answer = await build(core, request_text, token_budget=64, format=form)
    assert allergy in answer.text
    assert answer.token_count <= 64
