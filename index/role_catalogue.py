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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recalld.index.errors import CatalogueInvalid
from recalld.scoring import params

BUILT_IN = Path(__file__).with_name("catalogue")
BUILT_IN_FILES = ("roles.jsonl", "situations.jsonl")
LANGUAGES = ("zh", "en")
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
EXAMPLE_COUNT_MAX = 64
EXAMPLE_CHARS_MAX = 200
FILE_BYTES_MAX = 8 * 1024 * 1024

ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
ROLE_FIELDS = frozenset({"role", "gloss", "keys", "kinds", "memories"})
SITUATION_FIELDS = frozenset({"situation", "roles", "requests"})


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
    """Roles and situations by id, in the order of the files; not changed once loaded."""

    roles: Mapping[str, Role]
    situations: Mapping[str, Situation]

    def content_hash(self) -> str:
        """Hash everything that is embedded: 32 hex digits."""
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
        extension: lines of both kinds; new ids are added, known ones get the line's examples and
            keys besides their own, and its weights in place of their own.

    Raises:
        CatalogueInvalid: a file cannot be read or breaks a rule; names file, line and field.
    """
    roles: dict[str, Role] = {}
    situations: dict[str, Situation] = {}
    paths = [BUILT_IN / name for name in BUILT_IN_FILES]
    for path in [*paths, *([extension] if extension is not None else [])]:
        _read_into(path, roles, situations)
    return Catalogue(roles, situations)


def _read_into(path: Path, roles: dict[str, Role], situations: dict[str, Situation]) -> None:
    """Add the lines of one file."""
    seen: set[tuple[str, str]] = set()
    named: list[tuple[str, Situation]] = []
    taken = {text: name for name, role in roles.items() for text in (*role.keys, *role.memories)}
    asked = {text: name for name, one in situations.items() for text in one.requests}
    for where, item in _lines(path):
        kind = next((kind for kind in ("role", "situation") if kind in item), "")
        if not kind:
            raise CatalogueInvalid(f"{where}: is neither a role nor a situation")
        _only(item, ROLE_FIELDS if kind == "role" else SITUATION_FIELDS, where)
        name = item[kind]
        if not isinstance(name, str) or not ID.fullmatch(name):
            raise CatalogueInvalid(f"{where}: {kind} must be 1 to 64 of a-z, 0-9 and _")
        if (kind, name) in seen:
            raise CatalogueInvalid(f"{where}: {kind} {name!r} comes twice")
        seen.add((kind, name))
        if kind == "role":
            role = roles.setdefault(name, Role())
            _fill_role(role, name, item, taken, where)
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
    ):
        if count > most:
            raise CatalogueInvalid(f"{path}: {count} {what}, the limit is {most}")


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of a file, each with `file:line`; blank lines are skipped."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise CatalogueInvalid(f"{path}: is larger than {FILE_BYTES_MAX} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CatalogueInvalid(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CatalogueInvalid(f"{path}: is not UTF-8 at byte {error.start}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            item = json.loads(line, object_pairs_hook=_distinct)
        except ValueError as error:
            raise CatalogueInvalid(f"{where}: {error}") from error
        if not isinstance(item, dict):
            raise CatalogueInvalid(f"{where}: is not a JSON object")
        yield where, item


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names differ; JSON itself would let the last one win in silence."""
    item = dict(pairs)
    if len(item) != len(pairs):
        raise ValueError("a field comes twice")
    return item


def _fill_role(
    role: Role, name: str, item: dict[str, Any], taken: dict[str, str], where: str
) -> None:
    """Add one line to a role."""
    gloss = _object(item, "gloss", where)
    _only(gloss, frozenset(LANGUAGES), f"{where}: gloss")
    role.gloss |= {lang: _text(text, f"{where}: gloss.{lang}") for lang, text in gloss.items()}
    keys = item.get("keys", [])
    if not isinstance(keys, list):
        raise CatalogueInvalid(f"{where}: keys must be a list")
    for at, key in enumerate(keys):
        if not isinstance(key, str) or not KEY.fullmatch(key):
            raise CatalogueInvalid(f"{where}: keys[{at}]: must be a dotted path of a-z, 0-9 and _")
        _claim(taken, key, name, f"{where}: keys[{at}]")
    role.keys += keys
    kinds = item.get("kinds", [])
    if not isinstance(kinds, list) or not all(kind in tuple(KINDS) for kind in kinds):
        raise CatalogueInvalid(f"{where}: kinds: must be a list of {', '.join(KINDS)}")
    role.kinds += [KINDS[kind] for kind in kinds]
    role.memories += _examples(item, "memories", name, taken, where)
    _count(role.memories, "memories", where)


def _fill_situation(
    situation: Situation, name: str, item: dict[str, Any], asked: dict[str, str], where: str
) -> None:
    """Add one line to a situation."""
    for role, weight in _object(item, "roles", where).items():
        is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if not (is_number and math.isfinite(weight) and 0 <= weight <= 1):
            raise CatalogueInvalid(f"{where}: roles.{role}: must be a number in [0, 1]")
        situation.roles[role] = float(weight)
    situation.requests += _examples(item, "requests", name, asked, where)
    _count(situation.requests, "requests", where)


def _examples(
    item: dict[str, Any], name: str, owner: str, taken: dict[str, str], where: str
) -> list[str]:
    """Texts of all languages, none of which an other entry has."""
    by_language = _object(item, name, where)
    _only(by_language, frozenset(LANGUAGES), f"{where}: {name}")
    found = []
    for language, texts in by_language.items():
        if not isinstance(texts, list):
            raise CatalogueInvalid(f"{where}: {name}.{language}: must be a list")
        for at, text in enumerate(texts):
            path = f"{where}: {name}.{language}[{at}]"
            found.append(_text(text, path))
            _claim(taken, text, owner, path)
    return found


def _claim(taken: dict[str, str], text: str, owner: str, path: str) -> None:
    """Note whose a text is."""
    if text in taken:
        raise CatalogueInvalid(f"{path}: stands at {taken[text]!r} already")
    taken[text] = owner


def _count(texts: list[str], name: str, where: str) -> None:
    """Check the number of examples."""
    if not 1 <= len(texts) <= EXAMPLE_COUNT_MAX:
        raise CatalogueInvalid(
            f"{where}: {name}: {len(texts)} examples are not in [1, {EXAMPLE_COUNT_MAX}]"
        )


def _text(value: object, path: str) -> str:
    """One line with content."""
    is_line = isinstance(value, str) and value == value.strip() and value.isprintable()
    if not (is_line and isinstance(value, str) and 0 < len(value) <= EXAMPLE_CHARS_MAX):
        raise CatalogueInvalid(
            f"{path}: must be one trimmed line of 1 to {EXAMPLE_CHARS_MAX} characters"
        )
    return value


def _object(item: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    """A field that holds an object; empty where it is missing."""
    value = item.get(name, {})
    if not isinstance(value, dict):
        raise CatalogueInvalid(f"{where}: {name}: must be an object")
    return value


def _only(item: dict[str, Any], known: frozenset[str], where: str) -> None:
    """Refuse fields that nobody would read."""
    unknown = sorted(item.keys() - known)
    if unknown:
        raise CatalogueInvalid(f"{where}: {unknown[0]!r} is not one of {', '.join(sorted(known))}")
