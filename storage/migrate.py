"""Brings a database from the format version it has to the one this program writes.

Knows no database library: a connection is anything with `execute(sql, parameters)`. It never
goes backwards and never guesses: a newer format is refused.

Invariants: every step runs in one transaction with the new version number, between two
checkpoints, so that no DDL stays in the log; a step killed half way runs again from the start.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from recalld.storage.errors import Corrupt, FormatTooNew
from recalld.storage.record import Status
from recalld.storage.tombstones import KEY_BYTES

FORMAT_VERSION = 8
TOMBSTONE_KEY = "tombstone_key"
"""Row of the table meta: the secret of the tombstones' hashes, in hex."""


class Connection(Protocol):
    """The part of a database connection that migration needs."""

    def execute(self, sql: str, parameters: Sequence[object] = ..., /) -> Any:
        """Runs one or more statements; the result has `fetchone()`."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One move from `version` to `version + 1`.

    Attributes:
        version: the format it starts from.
        apply: changes schema and rows through the connection, inside an open transaction.
    """

    version: int
    apply: Callable[[Connection], None]


def _add_traces(connection: Connection) -> None:
    connection.execute(
        "CREATE TABLE traces (tenant VARCHAR NOT NULL, recall_id VARCHAR NOT NULL, "
        "user_id VARCHAR NOT NULL, create_time_us BIGINT NOT NULL, header BLOB NOT NULL, "
        "candidates BLOB NOT NULL, PRIMARY KEY (tenant, recall_id))"
    )


def _tell_ends_apart(connection: Connection) -> None:
    """What ended a memory by replacing it stands apart from the end that its writer gave.

    Of rows that were replaced before, the last change stands for the time of replacement.
    """
    for name, kind, unset in (
        ("settled_group", "VARCHAR", "''"),
        ("superseded_from_us", "BIGINT", "0"),
        ("superseded_time_us", "BIGINT", "0"),
    ):
        connection.execute(f"ALTER TABLE memories ADD COLUMN {name} {kind} DEFAULT {unset}")
        connection.execute(f"ALTER TABLE memories ALTER COLUMN {name} SET NOT NULL")
        connection.execute(f"ALTER TABLE memories ALTER COLUMN {name} DROP DEFAULT")
    connection.execute(
        "UPDATE memories SET superseded_from_us = valid_to_us, superseded_time_us = update_time_us,"
        f" valid_to_us = 0 WHERE status = {int(Status.SUPERSEDED)}"
    )


def _second(connection: Connection) -> None:
    """2: traces, and ends told apart."""
    _add_traces(connection)
    _tell_ends_apart(connection)


def _third(connection: Connection) -> None:
    """3: purges, and the tombstones that they leave."""
    connection.execute(
        "CREATE TABLE tombstones (hash BLOB PRIMARY KEY, purge_time_us BIGINT NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE purges (id VARCHAR PRIMARY KEY, tenant VARCHAR NOT NULL, "
        "create_time_us BIGINT NOT NULL, complete_time_us BIGINT NOT NULL, "
        "row_count BIGINT NOT NULL, snapshot_count BIGINT NOT NULL, "
        "verified_file_count BIGINT NOT NULL)"
    )
    connection.execute("INSERT INTO meta VALUES (?, ?)", [TOMBSTONE_KEY, new_tombstone_key()])


def new_tombstone_key() -> str:
    """Returns a fresh secret for the tombstones of one data directory, in hex."""
    return secrets.token_hex(KEY_BYTES)


def _fourth(connection: Connection) -> None:
    """4: vectors of the writer's cues; rows that have cues are embedded at the next start."""
    connection.execute("ALTER TABLE memories ADD COLUMN cue_embedding BLOB")


def _fifth(connection: Connection) -> None:
    """5: sealed originals."""
    connection.execute(
        "CREATE TABLE sealed (label BIGINT NOT NULL, placeholder VARCHAR NOT NULL, "
        "data BLOB NOT NULL, PRIMARY KEY (label, placeholder))"
    )


def _sixth(connection: Connection) -> None:
    """6: vectors of another model that wait for their place."""
    connection.execute(
        "CREATE TABLE renewals (label BIGINT PRIMARY KEY, fingerprint VARCHAR NOT NULL, "
        "source_hash BLOB NOT NULL, embedding BLOB NOT NULL, cue_count INTEGER NOT NULL, "
        "cue_embedding BLOB)"
    )


_ENUMS = ("key_cardinality", "importance", "stated_by", "visibility")
_INTEGERS = (
    *("source_turn", "event_time_us", "valid_from_us", "valid_to_us", "confirm_time_us"),
    *("expire_time_us", "forget_time_us", "last_used_time_us", "access_count"),
    *("superseded_from_us", "superseded_time_us"),
)
_TEXTS = (
    *("source_session_id", "source_message_id", "source_uri"),
    *("conflict_group", "settled_group"),
)


def _seventh(connection: Connection) -> None:
    """7: what no statement reads, packed into one more column.

    By UPDATE, of which the log holds the bytes: it does not replay an ALTER that calls functions.
    """
    numbers = [(name, 2) for name in _ENUMS] + [(name, 16) for name in _INTEGERS]
    numbers += [(f"strlen({name})", 8) for name in _TEXTS]
    digits = " || ".join(f"lpad(hex({name}::BIGINT), {size}, '0')" for name, size in numbers)
    details = " || ".join((f"unhex({digits})", *(f"encode({name})" for name in _TEXTS)))
    connection.execute("ALTER TABLE memories ADD COLUMN details BLOB DEFAULT ''::BLOB")
    connection.execute("ALTER TABLE memories ALTER COLUMN details SET NOT NULL")
    connection.execute("ALTER TABLE memories ALTER COLUMN details DROP DEFAULT")
    connection.execute(f"UPDATE memories SET details = {details}")


def _eighth(connection: Connection) -> None:
    """8: the columns that were packed go; none can in the transaction that updates rows."""
    for name in (*_ENUMS, *_INTEGERS, *_TEXTS):
        connection.execute(f"ALTER TABLE memories DROP COLUMN {name}")


# The next format adds its step here and its schema to schema.sql; a step never changes afterwards.
STEPS: tuple[Step, ...] = (
    Step(1, _second),
    Step(2, _third),
    Step(3, _fourth),
    Step(4, _fifth),
    Step(5, _sixth),
    Step(6, _seventh),
    Step(7, _eighth),
)


def migrate(
    connection: Connection,
    path: Path,
    steps: Sequence[Step] = STEPS,
    supported: int = FORMAT_VERSION,
) -> int:
    """Applies every step from the found version up to `supported`; returns how many ran.

    Args:
        connection: open, outside a transaction.
        path: the file, for messages.
        steps: ordered by version; must lead from the found version to `supported`.
        supported: the version to reach.

    Raises:
        FormatTooNew: the data is newer than `supported`.
        Corrupt: no version is recorded, or no step leads on from it.
    """
    version = read_version(connection, path)
    if version > supported:
        raise FormatTooNew(path, version, supported)
    by_version = {step.version: step for step in steps}
    for current in range(version, supported):
        step = by_version.get(current)
        if step is None:
            raise Corrupt(path, f"no step leads on from format version {current}")
        _apply(connection, step)
    return supported - version


def read_version(connection: Connection, path: Path) -> int:
    """Returns the recorded format version.

    Raises:
        Corrupt: there is none, or it is not a positive number.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = 'format_version'").fetchone()
    if row is None or not str(row[0]).isdecimal() or int(row[0]) < 1:
        raise Corrupt(path, f"no valid format_version in meta: {row[0] if row else None!r}")
    return int(row[0])


def _apply(connection: Connection, step: Step) -> None:
    connection.execute("CHECKPOINT")
    connection.execute("BEGIN")
    try:
        step.apply(connection)
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'format_version'", [str(step.version + 1)]
        )
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    connection.execute("CHECKPOINT")
