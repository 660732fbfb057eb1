"""resolve against a real server."""

from __future__ import annotations

import json

from .conftest import Recalld


def test_resolve_and_undo(recalld: Recalld) -> None:
    """A conflict is settled by its group, taken back, and shown with the state of each member."""
    ids = [
        recalld(
            *("remember", city, "-u", "c1", "--key", "city"),
            *("--event-time", "2026-01-02T00:00:00Z"),
        ).out.split()[1]
        for city in ("Leeds", "York")
    ]
    group = json.loads(recalld("get", ids[0], "-u", "c1", "--json").out)["conflict_group"]
    ran = recalld("resolve", group, "-u", "c1", "--winner", ids[1])
    states = [tuple(line.split("\t")[:2]) for line in ran.lines]
    assert states == [(ids[0], "superseded"), (ids[1], "active")]
    back = recalld("resolve", group, "-u", "c1", "--undo", "--json")
    assert {json.loads(line)["status"] for line in back.lines} == {"conflicted"}


def test_resolve_needs_one_way(recalld: Recalld) -> None:
    """Without a way, or with two, the call is wrong; an unknown group is not there."""
    assert recalld("resolve", "g", "-u", "c2").code == 2
    assert recalld("resolve", "g", "-u", "c2", "--undo", "--keep-all").code == 2
    assert recalld("resolve", "g", "-u", "c2", "--undo").code == 3
