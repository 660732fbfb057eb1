"""Rankings of invented memories at a fixed clock, held still by a file.

`GOLDEN_UPDATE=1` writes the file anew; the difference is then reviewed like code.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import DAY_US, NOW_US, Core, condition, memory, must, opened

FILE = Path(__file__).with_name("recall.json")
DIM = 256
FACT, PREFERENCE, STATE, EVENT, PROGRESS, DECISION, PROCEDURE, DOCUMENT = range(1, 9)
MEMORIES: list[tuple[int, str, str, int, dict[str, Any]]] = [
    (FACT, "allergy", "allergic to shellfish, carries an injector", 400, {"importance": 4}),
    (FACT, "allergy", "对芒果过敏，吃了会起疹子", 120, {"importance": 3}),
    (FACT, "home", "lives in a flat near the harbour in Bristol", 700, {}),
    (FACT, "home", "moved to a house with a garden in Bath", 30, {}),
    (FACT, "", "the cat is called Juniper and is twelve years old", 90, {}),
    (FACT, "", "女儿在读小学三年级，周三下午有画画课", 60, {}),
    (FACT, "tech_stack", "the backend is written in Go with PostgreSQL", 200, {}),
    (FACT, "", "团队有五个人，其中两个在上海", 150, {}),
    (PREFERENCE, "reply_style", "wants short answers without headings", 45, {}),
    (PREFERENCE, "", "喜欢靠过道的座位", 300, {}),
    (PREFERENCE, "", "prefers oolong to coffee in the afternoon", 20, {}),
    (PREFERENCE, "", "周末不喜欢谈工作", 10, {"stated_by": 2, "confidence": 0.6}),
    (PREFERENCE, "", "likes spicy noodles", 15, {}),
    (STATE, "", "is travelling in Lisbon until Friday", 1, {"valid_to": NOW_US + 3 * DAY_US}),
    (STATE, "", "这周感冒了，嗓子疼", 2, {}),
    (STATE, "", "was in Oslo for a conference", 40, {"valid_to": NOW_US - 35 * DAY_US}),
    (EVENT, "", "ordered a standing desk, order number SD-20931", 6, {}),
    (EVENT, "", "订单 DD20261118-7742 已经退货", 12, {}),
    (EVENT, "", "had lunch with Priya at the new ramen place", 3, {}),
    (EVENT, "", "上周三和老王去爬山", 6, {}),
    (EVENT, "", "the deployment of v2.3.1 was rolled back at night", 9, {}),
    (PROGRESS, "", "chapter four of the thesis is half written", 4, {}),
    (PROGRESS, "", "迁移脚本还差用户表没有测试", 2, {}),
    (DECISION, "", "decided to keep the monolith for another year", 50, {}),
    (DECISION, "", "决定用蓝色做新的主色调", 25, {}),
    (PROCEDURE, "", "releases are tagged on Tuesday after the smoke test", 80, {}),
    (PROCEDURE, "", "报销要先找主管签字再交财务", 70, {}),
    (DOCUMENT, "", "Error E-1042 means that the disk quota is used up", 365, {}),
    (DOCUMENT, "", "年假每年十五天，可以结转五天", 365, {}),
    (DOCUMENT, "", "The cafeteria is closed on public holidays", 365, {}),
]
QUERIES: dict[str, dict[str, Any]] = {
    "food": {"text": "which shellfish dish can I order for lunch"},
    "food zh": {"text": "买水果要注意什么，芒果可以吗"},
    "home": {"text": "where is the house with the garden", "explain": True},
    "home then": {"text": "lives in Bristol", "as_of": NOW_US - 100 * DAY_US},
    "identifier": {"text": "what became of DD20261118-7742"},
    "error": {"text": "E-1042", "k": 3},
    "topic zh": {"text": "这周嗓子疼怎么办", "k": 3},
    "kinds": {"text": "the release and the deployment", "kinds": [EVENT, PROCEDURE]},
    "key": {"filter": must(condition(key={"values": ["allergy"]}))},
    "ranks": {"text": "oolong or coffee", "fusion": pb.Fusion.FUSION_RRF, "explain": True},
    "history": {"text": "lives in a flat", "include_superseded": True, "min_score": 0.0},
    "nothing": {"text": "how do volcanoes erupt", "min_score": 0.5},
}


async def fill(core: Core) -> None:
    """Stores the memories one by one, an hour apart, long before the questions."""
    for number, (kind, key, content, age_days, fields) in enumerate(MEMORIES):
        core.clock.time_us = NOW_US - DAY_US + number * 60_000_000
        event = NOW_US - age_days * DAY_US
        made = memory(content, kind=kind, key=key, event_time=event, **fields)
        await core.remember("u", made)
    core.clock.time_us = NOW_US


def plain(answer: pb.RecallResponse) -> dict[str, Any]:
    """What of an answer does not change from run to run."""
    hits = []
    for hit in answer.hits:
        entry: dict[str, Any] = {
            "content": hit.memory.content,
            "score": round(hit.score, 6),
            "band": pb.ConfidenceBand.Name(hit.band).removeprefix("CONFIDENCE_BAND_"),
            "reasons": [*hit.reasons],
        }
        if hit.HasField("parts"):
            entry["parts"] = {
                "base": round(hit.parts.base, 6),
                "decay": round(hit.parts.decay, 6),
                "channels": {
                    pb.Channel.Name(part.channel).removeprefix("CHANNEL_"): round(
                        part.normalised, 6
                    )
                    for part in hit.parts.channels
                },
            }
        hits.append(entry)
    excluded = {
        pb.DropReason.Name(item.reason).removeprefix("DROP_REASON_"): item.count
        for item in answer.excluded
    }
    return {"hits": hits, "abstained": answer.abstained, "excluded": excluded}


async def test_rankings_are_as_reviewed() -> None:
    """Order, scores to six digits, bands, reasons and counts are those of the reviewed file."""
    found = {}
    async with opened(dim=DIM) as core:
        await fill(core)
        for name, fields in QUERIES.items():
            given = dict(fields)
            if "as_of" in given:
                given["as_of"] = memory("", event_time=given["as_of"]).event_time
            found[name] = plain(await core.recall("u", given.pop("text", ""), **given))
    if os.environ.get("GOLDEN_UPDATE") == "1":
        FILE.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        pytest.skip("the file was written anew")
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    assert found.keys() == expected.keys()
    for name, answer in found.items():
        assert [hit["content"] for hit in answer["hits"]] == [
            hit["content"] for hit in expected[name]["hits"]
        ], name
        # Processors add in different orders: the last digit may differ.
        for hit, reviewed in zip(answer["hits"], expected[name]["hits"], strict=True):
            assert hit["score"] == pytest.approx(reviewed["score"], abs=2e-6), name
            reviewed["score"] = hit["score"]
        assert answer == expected[name], name


async def test_ids_and_arrival_change_nothing() -> None:
    """Two servers that were told the same at the same times answer the same."""
    answers = []
    for _ in range(2):
        async with opened(dim=DIM) as core:
            await fill(core)
            answers.append(plain(await core.recall("u", "lunch in Lisbon", k=30, min_score=0.0)))
    assert answers[0] == answers[1]
    assert len(answers[0]["hits"]) > 20
