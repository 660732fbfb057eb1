"""Canonical values of keys: what is built in, what is refused, what a file of one's own adds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recalld.index.errors import CatalogueInvalid
from recalld.index.key_values import values_hash
from recalld.index.role_catalogue import load
from tests.index.test_role_catalogue import written

SAIL = {
    "values_of": "boat.sail",
    "synonyms": ["sail_colour"],
    "values": {"white": {"en": ["a white sail"]}, "red": {"en": ["a red sail"], "zh": ["红帆"]}},
}


def changed(**fields: Any) -> dict[str, Any]:
    """The entry with other fields."""
    return {**SAIL, **fields}


def test_built_in_values() -> None:
    """At least 15 keys are built in; each value has examples of both languages."""
    entries = load().values
    assert len(entries) >= 15
    for key, entry in entries.items():
        for value, texts in entry.values.items():
            languages = Counter(any("\u4e00" <= c <= "\u9fff" for c in text) for text in texts)
            assert min(languages[True], languages[False]) >= 2, (key, value)


def test_own_values_are_added(tmp_path: Path) -> None:
    """An entry of one's own stands behind the built-in ones."""
    entries = load(written(tmp_path, SAIL)).values
    assert list(entries)[-1] == "boat.sail"
    assert entries["boat.sail"].synonyms == ["sail_colour"]
    assert entries["boat.sail"].values == {"white": ["a white sail"], "red": ["a red sail", "红帆"]}


def test_known_values_grow(tmp_path: Path) -> None:
    """A line of a known key adds synonyms, values and examples, and changes what is embedded."""
    before = load().values
    line = {
        "values_of": "ui_theme",
        "synonyms": ["acme.theme"],
        "values": {"dark": {"en": ["Black like the night"]}, "sepia": {"en": ["Sepia tones"]}},
    }
    after = load(written(tmp_path, line)).values
    assert after["ui_theme"].synonyms == [*before["ui_theme"].synonyms, "acme.theme"]
    assert after["ui_theme"].values["sepia"] == ["Sepia tones"]
    assert after["ui_theme"].values["dark"][-1] == "Black like the night"
    assert after["ui_theme"].values["light"] == before["ui_theme"].values["light"]
    assert values_hash(after) != values_hash(before)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([changed(values_of="Boat")], "values_of must be"),
        ([changed(extra=1)], "'extra' is not one of"),
        ([changed(synonyms="x")], "synonyms must be a list"),
        ([changed(synonyms=["A b"])], "synonyms[0]: must be a dotted path"),
        ([changed(synonyms=["theme"])], "synonyms[0]: stands at 'ui_theme' already"),
        ([changed(values_of="theme")], "is a synonym of 'ui_theme'"),
        ([SAIL, SAIL], "values_of 'boat.sail' comes twice"),
        ([changed(values={"white": {"en": ["a"]}})], "values: 1 are not in [2, 16]"),
        ([changed(values={"A": {"en": ["a"]}, "b": {"en": ["b"]}})], "values: 'A' must be"),
        ([changed(values={"a": {"en": ["x"]}, "b": {"en": ["x"]}})], "stands at 'a' already"),
        ([changed(values={"a": {"en": []}, "b": {"en": ["x"]}})], "values.a: 0 examples"),
        ([changed(values={"a": {"fr": ["x"]}, "b": {"en": ["y"]}})], "'fr' is not one of"),
        ([changed(values=[])], "values: must be an object"),
    ],
)
def test_a_broken_entry_is_refused(tmp_path: Path, lines: list[Any], said: str) -> None:
    """An entry that breaks a rule is refused with its line and field."""
    with pytest.raises(CatalogueInvalid) as refused:
        load(written(tmp_path, *lines))
    assert said in str(refused.value)
    assert f"own.jsonl:{len(lines)}" in str(refused.value)
