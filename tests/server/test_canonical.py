"""Canonical values: which statements of a key are held to say the same."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from recalld.index.embedder import default_model_dir
from recalld.index.key_values import KeyValues
from recalld.index.onnx_embedder import OnnxEmbedder
from recalld.index.role_catalogue import Catalogue, load
from recalld.scoring.params import Scale
from recalld.server.canonical import CanonicalKey, CanonicalValues, statements
from recalld.server.claims import Claim
from recalld.server.indexing import led_text
from recalld.server.roles import Roles
from recalld.v1 import memory_service_pb2
from recalld.v1.types_pb2 import KeyCardinality, MemoryKind
from tests.server.core import Core, memory, opened
from tests.tidy.tree import ROOT

Outcome = memory_service_pb2.RememberOutcome
MODEL_DIR = default_model_dir(os.environ)
THEME = KeyValues(
    ["screen"],
    {
        "dark": ["wants the screen all black and dim", "does not want a bright glaring screen"],
        "light": ["likes bright and glaring displays", "does not like dim displays in black"],
    },
)
SCALE = Scale(0.0, 0.1)


@pytest.fixture
async def core() -> AsyncIterator[Core]:
    """A core with values of one key, embedded by letters."""
    roles = Roles(Catalogue({}, {}, {"ui_theme": THEME}))
    async with opened(dim=256, roles=roles) as made:
        vectors = made.embedder.embed(statements({"ui_theme": THEME}), is_query=False)
        roles.values = CanonicalValues({"ui_theme": THEME}, vectors)
        yield made


async def said(core: Core, *contents: str | tuple[str, dict[str, Any]]) -> list[int]:
    """Outcomes of statements of the key, one call each."""
    outcomes = []
    for given in contents:
        content, fields = given if isinstance(given, tuple) else (given, {})
        fields = {"key": "ui_theme", **fields}
        answer = await core.remember("u", memory(content, **fields))
        outcomes.append(answer.results[0].outcome)
    return outcomes


async def test_one_value_is_one_row(core: Core) -> None:
    """Two wordings that land on one value are one memory, one that denies included."""
    wordings = (
        "wants a screen all black, dim",
        "does not want bright glaring screens",
        "wants the screen dim and black",
    )
    outcomes = await said(core, *wordings)
    assert outcomes == [Outcome.REMEMBER_OUTCOME_CREATED, *[Outcome.REMEMBER_OUTCOME_REFRESHED] * 2]
    (kept,) = await core.listed("u")
    assert kept.content == wordings[0]
    assert kept.HasField("confirm_time")


async def test_another_value_takes_the_slot(core: Core) -> None:
    """A statement that lands on another value, or on none, follows the rules of slots."""
    outcomes = await said(
        core,
        "wants the screen black, dim",
        "likes bright, glaring displays",
        "reads on paper mostly",
    )
    superseded = Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS
    assert outcomes == [Outcome.REMEMBER_OUTCOME_CREATED, superseded, superseded]


@pytest.mark.parametrize(
    "second",
    [
        "does not want the screen all black and dim",
        "wants the screen all black and dim at 9",
        "wants the screen all black and dim on Mondays",
        "wants the screen of XK-200 all black and dim",
        "her brother wants the screen all black and dim",
        "wants the screen all black and dim, but not for maps",
    ],
)
async def test_what_no_value_stands_for_keeps_statements_apart(core: Core, second: str) -> None:
    """Denial, numbers, days, names, people and qualifications are never folded into a value."""
    outcomes = await said(core, "wants the screen all black and dim", second)
    assert outcomes[1] != Outcome.REMEMBER_OUTCOME_REFRESHED


async def test_the_value_given_wins_over_the_words(core: Core) -> None:
    """A value that the writer gave decides, whatever the text is like, and is never lost."""
    dark, light = {"value": {"theme": "Dark"}}, {"value": {"theme": "light"}}
    outcomes = await said(
        core,
        ("wants the screen all black and dim", {}),
        ("wants the screen all black and dim now", light),
        ("likes bright and glaring displays", dark),
        ("wants the screen dim", dark),
        ("wants the screen all dim and black", {}),
    )
    assert outcomes == [
        Outcome.REMEMBER_OUTCOME_CREATED,
        Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS,
        Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS,
        Outcome.REMEMBER_OUTCOME_REFRESHED,
        Outcome.REMEMBER_OUTCOME_REFRESHED,
    ]
    current = await core.get("u", key="ui_theme")
    assert current.content == "likes bright and glaring displays"
    assert dict(current.value) == {"theme": "Dark"}


async def test_keys_stay_apart(core: Core) -> None:
    """A synonym has the same values in a slot of its own; events and other keys have none."""
    event = {"kind": MemoryKind.MEMORY_KIND_EVENT}
    outcomes = await said(
        core,
        ("wants the screen black, dim", {}),
        ("wants the screen black, dim too", {"key": "screen"}),
        ("wants a screen black and dim", {"key": "screen"}),
        ("wants the screen black, dim", {"key": "wall"}),
        ("wants a screen black and dim", {"key": "wall"}),
        ("wants the screen black, dim", event),
        ("wants a screen all black and dim", event),
    )
    made, refreshed = Outcome.REMEMBER_OUTCOME_CREATED, Outcome.REMEMBER_OUTCOME_REFRESHED
    superseded = Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS
    assert outcomes == [made, made, refreshed, made, superseded, made, made]


async def test_a_set_holds_each_value_once(core: Core) -> None:
    """In a key that holds many values each canonical one stands once."""
    many = {"key_cardinality": KeyCardinality.KEY_CARDINALITY_MANY}
    outcomes = await said(
        core,
        ("wants the screen black, dim", many),
        ("likes bright, glaring displays", many),
        ("wants a screen dim and black", many),
    )
    made = Outcome.REMEMBER_OUTCOME_CREATED
    assert outcomes == [made, made, Outcome.REMEMBER_OUTCOME_REFRESHED]


def test_a_statement_lands_where_one_value_is_clearly_nearest() -> None:
    """It lands on the nearest example that denies alike: near, clear, in words of its own."""
    axes = np.eye(5, dtype=np.float32)
    key = CanonicalKey.of(THEME, axes[:4])
    cases: list[tuple[str, list[float], int]] = [
        ("dim", [0.9, 0, 0, 0], 0),
        ("glaring", [0, 0, 0.9, 0], 1),
        ("not dim", [0.9, 0.1, 0, 0.5], 1),
        ("not glaring", [0, 0.5, 0.9, 0.1], 0),
        ("dim", [0.5, 0, 0.499, 0], -1),
        ("dim", [0.1, 0, 0, 0], -1),
        ("dim", [0, 0, 0.9, 0], -1),
        ("blue", [0.9, 0, 0, 0], -1),
        ("dim, but blue", [0.9, 0, 0, 0], -1),
        ("dim" + "!" * 200, [0.9, 0, 0, 0], -1),
        ("not glaring displays", [0, 0.1, 0, 0.9], -1),
    ]
    for text, cosines, expected in cases:
        vector = np.array([*cosines, 0], np.float32)
        assert key.nearest(Claim(text), vector, SCALE) == expected, text


def test_a_value_without_such_an_example_ends_the_guess() -> None:
    """Where some value has no example that denies, a statement that denies lands nowhere."""
    entry = KeyValues([], {"cash": ["pays cash", "no cards"], "card": ["pays by card"]})
    key = CanonicalKey.of(entry, np.eye(3, dtype=np.float32))
    vector = np.array([0, 1, 0], np.float32)
    assert key.nearest(Claim("no cards"), vector, SCALE) == -1


@pytest.mark.model
@pytest.mark.skipif(not (MODEL_DIR / "model.onnx").exists(), reason="the model is not built")
def test_the_default_model_guesses_no_wrong_value() -> None:
    """Of unseen statements the default model puts most on their value, and none on a wrong one."""
    embedder, entries = OnnxEmbedder(MODEL_DIR), load().values
    dim = embedder.dim
    vectors = embedder.embed(statements(entries), is_query=False)[:, :dim]
    values = CanonicalValues(entries, vectors)
    scale = Scale(embedder.calibration.mean, embedder.calibration.spread)
    found = wrong = 0
    path = ROOT / "tests/data/canonical_values.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        text = led_text(row["key"], row["content"])
        vector = embedder.embed([text], is_query=False)[0, :dim]
        key = values.of_key(row["key"])
        assert key is not None
        place = key.nearest(Claim(row["content"]), vector, scale)
        guess = key.values[place] if place >= 0 else ""
        wrong += guess not in ("", row["value"])
        found += bool(guess) and guess == row["value"]
    assert wrong == 0
    assert found >= len(rows) / 4
