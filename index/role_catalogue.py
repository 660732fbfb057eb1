"""The role catalogue: what a memory can be to a request, and what requests are about.

A *role* is what a memory is good for (an allergy, a rule of the team, where work stands); a
*situation* is what a request is about (ordering a snack, releasing a version), and says how much
each role matters in it. Both are given by examples. The files are JSON lines, described in
docs/CATALOGUE.md.

It never embeds anything. Invariants of a catalogue: ids, keys and examples are unique among their
kind; every role a situation names exists; every weight lies in [0, 1].
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recalld.index.catalogue_lines import (
    KEY,
    LANGUAGES,
    check_count,
    check_fields,
    examples_of,
    keys_of,
    line_of_text,
    object_of,
    read_lines,
)
from recalld.index.errors import CatalogueInvalid
from recalld.index.key_values import VALUES_OF, KeyValues, Names, fill_values
from recalld.scoring import params

BUILT_IN = Path(__file__).with_name("catalogue")
BUILT_IN_FILES = ("roles.jsonl", "situations.jsonl", "values.jsonl")
KINDS = {
    "FACT": params.FACT,
    "PREFERENCE": params.PREFERENCE,
    "STATE": params.STATE,
    "EVENT": params.EVENT,
    "PROGRESS": params.PROGRESS,
    "DECISION": params.DECISION,
    "PROCEDURE": params.PROCEDURE,
    "DOCUMENT": params.DOCUMENT,
}

# Each bounds what start-up embeds and what a search multiplies: several times the built-in size.
ROLE_COUNT_MAX = 256
SITUATION_COUNT_MAX = 2_000
KEY_COUNT_MAX = 256

ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
FIELDS = {
    "role": frozenset({"role", "gloss", "keys", "kinds", "memories"}),
    "situation": frozenset({"situation", "roles", "requests"}),
    VALUES_OF: frozenset({VALUES_OF, "synonyms", "values"}),
}


@dataclass
class Role:
    """What a memory can be.

    Attributes:
        gloss: one line of explanation by language.
        keys: dotted keys whose memories have this role, also where they are only a prefix.
        kinds: kinds whose memories have a share of this role, as numbers of the ranking.
        memories: example memories.
    """

    gloss: dict[str, str] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)


@dataclass
class Situation:
    """What a request can be about.

    Attributes:
        roles: role -> how much it matters, in [0, 1]; empty: no memory is needed.
        requests: example requests.
    """

    roles: dict[str, float] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Catalogue:
    """Roles and situations by id, and canonical values by key, in the order of the files.

    Not changed once loaded.
    """

    roles: Mapping[str, Role]
    situations: Mapping[str, Situation]
    values: Mapping[str, KeyValues] = field(default_factory=dict)

    def content_hash(self) -> str:
        """Hash everything of roles and situations that is embedded: 32 hex digits."""
        texts = [
            [role.memories for role in self.roles.values()],
            [one.requests for one in self.situations.values()],
        ]
        return hashlib.sha256(json.dumps(texts).encode("ascii")).hexdigest()[:32]

    def key_roles(self) -> dict[str, int]:
        """Return key -> place of its role among `roles`."""
        return {key: at for at, role in enumerate(self.roles.values()) for key in role.keys}


def load(extension: Path | None = None) -> Catalogue:
    """Read the built-in catalogue and, on top of it, a deployment's own file.

    Args:
        extension: lines of any kind; new ids are added, known ones get the line's examples and
            keys besides their own, and its weights in place of their own.

    Raises:
        CatalogueInvalid: a file cannot be read or breaks a rule; names file, line and field.
    """
    roles: dict[str, Role] = {}
    situations: dict[str, Situation] = {}
    values: dict[str, KeyValues] = {}
    paths = [BUILT_IN / name for name in BUILT_IN_FILES]
    for path in [*paths, *([extension] if extension is not None else [])]:
        _read_into(path, roles, situations, values)
    return Catalogue(roles, situations, values)


def _read_into(
    path: Path,
    roles: dict[str, Role],
    situations: dict[str, Situation],
    values: dict[str, KeyValues],
) -> None:
    """Add the lines of one file."""
    seen: set[tuple[str, str]] = set()
    named: list[tuple[str, Situation]] = []
    taken = {text: name for name, role in roles.items() for text in (*role.keys, *role.memories)}
    asked = {text: name for name, one in situations.items() for text in one.requests}
    keyed = Names.of(values)
    for where, item in read_lines(path):
        kind = next((kind for kind in FIELDS if kind in item), "")
        if not kind:
            raise CatalogueInvalid(
                f"{where}: is neither a role nor a situation nor values of a key"
            )
        check_fields(item, FIELDS[kind], where)
        name = item[kind]
        form = KEY if kind == VALUES_OF else ID
        if not isinstance(name, str) or not form.fullmatch(name):
            raise CatalogueInvalid(f"{where}: {kind} must be 1 to 64 of a-z, 0-9 and _")
        if (kind, name) in seen:
            raise CatalogueInvalid(f"{where}: {kind} {name!r} comes twice")
        seen.add((kind, name))
        if kind == "role":
            role = roles.setdefault(name, Role())
            _fill_role(role, name, item, taken, where)
        elif kind == VALUES_OF:
            fill_values(values, name, item, keyed, where)
        else:
            situation = situations.setdefault(name, Situation())
            _fill_situation(situation, name, item, asked, where)
            named.append((where, situation))
    for where, situation in named:
        unknown = sorted(situation.roles.keys() - roles.keys())
        if unknown:
            raise CatalogueInvalid(f"{where}: roles.{unknown[0]}: there is no such role")
    for count, most, what in (
        (len(roles), ROLE_COUNT_MAX, "roles"),
        (len(situations), SITUATION_COUNT_MAX, "situations"),
        (len(values), KEY_COUNT_MAX, "keys with canonical values"),
    ):
        if count > most:
            raise CatalogueInvalid(f"{path}: {count} {what}, the limit is {most}")


def _fill_role(
    role: Role, name: str, item: dict[str, Any], taken: dict[str, str], where: str
) -> None:
    """Add one line to a role."""
    gloss = object_of(item, "gloss", where)
    check_fields(gloss, frozenset(LANGUAGES), f"{where}: gloss")
    role.gloss |= {
        lang: line_of_text(text, f"{where}: gloss.{lang}") for lang, text in gloss.items()
    }
    role.keys += keys_of(item, "keys", name, taken, where)
    kinds = item.get("kinds", [])
    if not isinstance(kinds, list) or not all(kind in tuple(KINDS) for kind in kinds):
        raise CatalogueInvalid(f"{where}: kinds: must be a list of {', '.join(KINDS)}")
    role.kinds += [KINDS[kind] for kind in kinds]
    role.memories += examples_of(item, "memories", name, taken, where)
    check_count(role.memories, "memories", where)


def _fill_situation(
    situation: Situation, name: str, item: dict[str, Any], asked: dict[str, str], where: str
) -> None:
    """Add one line to a situation."""
    for role, weight in object_of(item, "roles", where).items():
        is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if not (is_number and math.isfinite(weight) and 0 <= weight <= 1):
            raise CatalogueInvalid(f"{where}: roles.{role}: must be a number in [0, 1]")
        situation.roles[role] = float(weight)
    situation.requests += examples_of(item, "requests", name, asked, where)
    check_count(situation.requests, "requests", where)
