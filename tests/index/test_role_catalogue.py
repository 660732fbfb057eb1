"""The role catalogue: what is built in, what is refused, and what a file of one's own adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recalld.index.catalogue_lines import EXAMPLE_COUNT_MAX
from recalld.index.errors import CatalogueInvalid
from recalld.index.role_catalogue import BUILT_IN, BUILT_IN_FILES, load
from recalld.scoring.params import DECISION

ROLE = {"role": "boat", "keys": ["boat"], "memories": {"en": ["I own a boat"]}}
SITUATION = {"situation": "sail", "roles": {"boat": 1}, "requests": {"en": ["Let us go sailing"]}}


def written(tmp_path: Path, *lines: Any) -> Path:
    """A file of lines; texts as they are, everything else as JSON."""
    path = tmp_path / "own.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def test_built_in_breadth() -> None:
    """At least 300 situations are built in, and every role matters in one of them."""
    catalogue = load()
    assert len(catalogue.situations) >= 300
    used = {role for one in catalogue.situations.values() for role in one.roles}
    assert used == set(catalogue.roles)


@pytest.mark.parametrize(
    ("file", "field", "fewest"),
    [(BUILT_IN_FILES[0], "memories", 10), (BUILT_IN_FILES[1], "requests", 4)],
)
def test_built_in_examples(file: str, field: str, fewest: int) -> None:
    """Every built-in entry has enough examples, some of each language."""
    for line in (BUILT_IN / file).read_text(encoding="utf-8").splitlines():
        examples = json.loads(line)[field]
        assert examples["zh"] and examples["en"], line
        assert len(examples["zh"]) + len(examples["en"]) >= fewest, line


def test_built_in_knows_some_people_by_key() -> None:
    """A key leads to the role of that name."""
    catalogue = load()
    names = list(catalogue.roles)
    roles = {key: names[at] for key, at in catalogue.key_roles().items()}
    assert roles["allergy"] == "food_restriction"
    assert roles["tech_stack"] == "tech_stack"
    assert catalogue.roles["decision"].kinds == [DECISION]


def test_own_entries_are_added(tmp_path: Path) -> None:
    """A role and a situation of one's own stand behind the built-in ones."""
    catalogue = load(written(tmp_path, ROLE, "", SITUATION))
    assert list(catalogue.roles)[-1] == "boat"
    assert catalogue.situations["sail"].roles == {"boat": 1.0}
    assert catalogue.key_roles()["boat"] == len(catalogue.roles) - 1


def test_known_entries_grow(tmp_path: Path) -> None:
    """A line of a known id adds its examples and keys, and its weights replace those there."""
    before = load()
    own = load(
        written(
            tmp_path,
            {"role": "pets", "keys": ["acme.animal"], "memories": {"en": ["A ferret lives here"]}},
            {"situation": "vet_visit", "roles": {"pets": 0.25}},
        )
    )
    assert own.roles["pets"].memories == [*before.roles["pets"].memories, "A ferret lives here"]
    assert own.roles["pets"].keys == [*before.roles["pets"].keys, "acme.animal"]
    assert own.situations["vet_visit"].roles == {
        **before.situations["vet_visit"].roles,
        "pets": 0.25,
    }


def test_hash_follows_the_texts(tmp_path: Path) -> None:
    """The hash names what is embedded: other examples change it, other weights do not."""
    weights = written(tmp_path, {"situation": "vet_visit", "roles": {"pets": 0.25}})
    assert load(weights).content_hash() == load().content_hash()
    assert load(written(tmp_path, ROLE)).content_hash() != load().content_hash()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "Expecting property name"),
        ("[]", "is not a JSON object"),
        ('{"role": "boat", "role": "ship"}', "a field comes twice"),
        ({"gloss": {}}, "is neither a role nor a situation"),
        ({**ROLE, "cues": []}, "'cues' is not one of gloss, keys, kinds, memories, role"),
        ({**ROLE, "role": "Boat"}, "role must be 1 to 64 of a-z, 0-9 and _"),
        ({**ROLE, "keys": ["allergy"]}, "keys[0]: stands at 'food_restriction' already"),
        ({**ROLE, "keys": ["a..b"]}, "keys[0]: must be a dotted path of a-z, 0-9 and _"),
        ({**ROLE, "keys": "boat"}, "keys must be a list"),
        ({**ROLE, "kinds": ["SHIP"]}, "kinds: must be a list of FACT, "),
        ({**ROLE, "kinds": [[]]}, "kinds: must be a list of FACT, "),
        ({**ROLE, "gloss": {"fr": "bateau"}}, "gloss: 'fr' is not one of en, zh"),
        ({**ROLE, "memories": {}}, "memories: 0 examples are not in [1, 64]"),
        ({**ROLE, "memories": {"en": "x"}}, "memories.en: must be a list"),
        ({**ROLE, "memories": {"en": ["a", " b"]}}, "memories.en[1]: must be one trimmed line"),
        ({**ROLE, "memories": {"en": [""]}}, "memories.en[0]: must be one trimmed line"),
        ({**ROLE, "memories": {"en": ["a\nb"]}}, "memories.en[0]: must be one trimmed line"),
        ({**ROLE, "memories": {"en": ["x" * 201]}}, "of 1 to 200 characters"),
        ({**ROLE, "memories": {"en": ["a", "a"]}}, "memories.en[1]: stands at 'boat' already"),
        (
            {**ROLE, "memories": {"en": [f"m{n}" for n in range(EXAMPLE_COUNT_MAX + 1)]}},
            "memories: 65 examples are not in [1, 64]",
        ),
        ({**SITUATION, "roles": {"pets": 1.01}}, "roles.pets: must be a number in [0, 1]"),
        ({**SITUATION, "roles": {"pets": True}}, "roles.pets: must be a number in [0, 1]"),
        ({**SITUATION, "roles": {"pets": "1"}}, "roles.pets: must be a number in [0, 1]"),
        ('{"situation": "sail", "roles": {"pets": NaN}}', "roles.pets: must be a number"),
        ({**SITUATION, "roles": []}, "roles: must be an object"),
        ({**SITUATION, "roles": {"ship": 1}}, "roles.ship: there is no such role"),
    ],
)
def test_bad_lines(tmp_path: Path, line: Any, said: str) -> None:
    """A line that breaks a rule is refused, by file, line and field."""
    path = written(tmp_path, {"role": "filler", "memories": {"en": ["filler"]}}, "", line)
    with pytest.raises(CatalogueInvalid) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}:3: ")
    assert said in str(refused.value)


def test_entries_come_once(tmp_path: Path) -> None:
    """Two lines of one file must not share an id."""
    with pytest.raises(CatalogueInvalid, match=r":2: role 'boat' comes twice"):
        load(written(tmp_path, ROLE, {**ROLE, "keys": [], "memories": {"en": ["another"]}}))


def test_order_of_lines_is_free(tmp_path: Path) -> None:
    """A situation may name a role that stands further down."""
    assert "sail" in load(written(tmp_path, SITUATION, ROLE)).situations


def test_unreadable_files(tmp_path: Path) -> None:
    """A file that is not there, or not UTF-8, is named."""
    with pytest.raises(CatalogueInvalid, match=r"absent\.jsonl: cannot be read"):
        load(tmp_path / "absent.jsonl")
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"role": "caf\xe9"}')
    with pytest.raises(CatalogueInvalid, match=r"latin\.jsonl: is not UTF-8 at byte 13"):
        load(path)
