"""Commands that say why: the parts of scores, one trace, and the list of traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import exits, output
from recalld.cli.options import Output, Scoped, command

if TYPE_CHECKING:
    from recalld.client.models import ScoreParts
    from recalld.client.traces import Trace, TraceCandidate

LISTED_COUNT = 20


@dataclass(frozen=True)
class TraceOptions:
    """Which trace."""

    recall_id: Annotated[
        str, typer.Argument(help="Id of a recall that was made with --explain, or sampled.")
    ]
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="Only this memory, recalled or not: why not this one?"),
    ] = None


@dataclass(frozen=True)
class TracesOptions:
    """How many."""

    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100_000, help="At most so many.")
    ] = LISTED_COUNT


def write_parts(scored: Sequence[tuple[object, float, ScoreParts]]) -> None:
    """One row for each scored memory: what each channel gives, and the factors.

    Channels that give nothing to any of them have no column.

    Args:
        scored: name of the row, score and its parts.
    """
    given = [
        {str(c.channel): c.weight * c.normalised for c in parts.channels} for _, _, parts in scored
    ]
    channels = [name for name in dict.fromkeys(n for g in given for n in g) if any_of(given, name)]
    headers = ("hit", "score", *channels, "bias", "base", "decay", "importance", "confidence")
    rows = [
        (
            name,
            score,
            *(shares.get(channel, 0.0) for channel in channels),
            parts.bias,
            parts.base,
            parts.decay,
            parts.importance,
            parts.confidence,
        )
        for (name, score, parts), shares in zip(scored, given, strict=True)
    ]
    output.write_rows(headers, rows)


def any_of(given: Sequence[dict[str, float]], channel: str) -> bool:
    """Whether a channel gives something to any row."""
    return any(shares.get(channel) for shares in given)


def trace(which: TraceOptions, where: Scoped, out: Output) -> None:
    """Show what became of every candidate of a recall, or of one memory, and why."""
    with where.open() as client:
        found = client.trace(which.recall_id, which.memory)
    if out.json:
        output.write_json(found)
        return
    rows = [(c.memory_id, c.rank or "-", c.score, _fate(c), _shares(c)) for c in found.candidates]
    if rows:
        output.write_rows(("id", "rank", "score", "fate", "evidence"), rows)
    if which.memory is not None:
        _write_one(found.candidates[0])
    _write_summary(found)


def _fate(candidate: TraceCandidate) -> str:
    """Why it was left out, or that it was not."""
    if candidate.drop_reason != "unspecified":
        return str(candidate.drop_reason)
    return "would be returned now" if candidate.recomputed else "returned"


def _shares(candidate: TraceCandidate) -> str:
    """What each channel gives, the most first."""
    if candidate.parts is None:
        return ""
    shares = [(c.weight * c.normalised, str(c.channel)) for c in candidate.parts.channels]
    return ", ".join(f"{name} {share:.2f}" for share, name in sorted(shares)[::-1] if share)


def _write_one(candidate: TraceCandidate) -> None:
    """The parts of one candidate, and how far they can be trusted."""
    if candidate.parts is not None:
        output.write("")
        write_parts([(candidate.rank or "-", candidate.score, candidate.parts)])
        if not candidate.rank:
            exits.print_note("it was not ranked: this is what it would have scored")
    if candidate.recomputed:
        changed = ", which changed after the recall" if candidate.changed_since else ""
        exits.print_note(f"not among the candidates kept: judged anew, by the memory{changed}")


def _write_summary(found: Trace) -> None:
    """What the trace says of the recall itself."""
    left = ", ".join(f"{reason} {count}" for reason, count in found.excluded.items())
    exits.print_note(
        f"{found.returned_count} returned of {found.matched_count} that matched; k {found.k}, "
        f"lowest score {found.min_score:g}; left out: {left or 'none'}"
    )
    exits.print_note(f"revision {found.revision}, ranking {found.config_hash}")


def traces(how: TracesOptions, where: Scoped, out: Output) -> None:
    """List the kept traces of a user, newest first."""
    with where.open() as client:
        found = list(islice(client.traces(min(how.limit, 1000)), how.limit))
    if out.json:
        for item in found:
            output.write_json(item)
        return
    rows = [
        (item.recall_id, item.time, item.returned_count, item.matched_count, item.revision)
        for item in found
    ]
    if rows:
        output.write_rows(("id", "time", "returned", "matched", "revision"), rows)


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    command(
        app,
        "trace",
        examples="""
        recalld recall "recommend a snack" -u u1 --explain --json | jq -r .recall_id
        recalld trace RECALL_ID -u u1
        recalld trace RECALL_ID -u u1 --memory MEMORY_ID
        """,
    )(trace)
    command(
        app,
        "traces",
        examples="""
        recalld traces -u u1 --limit 5
        recalld traces -u u1 --json
        """,
    )(traces)
