"""Commands that find what matters: recall and context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import exits, output, texts
from recalld.cli.options import Output, Scoped, command

if TYPE_CHECKING:
    from recalld.client import Hit, RecallResult


@dataclass(frozen=True)
class QueryOptions:
    """What is asked."""

    text: Annotated[
        str | None,
        typer.Argument(help="The request as the user put it; may be left out with --filter-key."),
    ] = None
    k: Annotated[int | None, typer.Option("-k", help="Hits wanted, 1 to 200.")] = None
    context: Annotated[
        list[str] | None, typer.Option(help="A turn before, oldest first; may be repeated.")
    ] = None
    filter_key: Annotated[
        list[str] | None, typer.Option(help="Only this key; may be repeated.")
    ] = None
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; may be repeated.")] = None
    min_score: Annotated[
        float | None, typer.Option(help="Lowest score, 0 to 1; 0 shows everything.")
    ] = None
    as_of: Annotated[str | None, typer.Option(help="What was true then.")] = None
    known_at: Annotated[str | None, typer.Option(help="What was known then.")] = None

    def fields(self) -> dict[str, Any]:
        """The query as the client takes it, without the text."""
        from recalld.client import F, Kind

        return {
            "k": self.k,
            "context": tuple(self.context or ()),
            "filter": F.key(*self.filter_key) if self.filter_key else None,
            "kinds": tuple(texts.option_choice("--kind", Kind, kind) for kind in self.kind or ()),
            "min_score": self.min_score,
            "as_of": texts.option_time("--as-of", self.as_of),
            "known_at": texts.option_time("--known-at", self.known_at),
        }


@dataclass(frozen=True)
class RecallOptions:
    """What else to show."""

    include_superseded: Annotated[
        bool, typer.Option("--include-superseded", help="Also superseded and expired ones.")
    ] = False
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the parts that make each score.")
    ] = False


def recall(query: QueryOptions, show: RecallOptions, where: Scoped, out: Output) -> None:
    """Recall what matters to a request, best first, or say that nothing does."""
    with where.open() as client:
        result = client.recall(
            query.text,
            include_superseded=show.include_superseded,
            explain=show.explain,
            **query.fields(),
        )
    if out.json:
        output.write_json(result)
        return
    rows = [
        (hit.score, hit.band, hit.memory.kind, hit.memory.key, hit.memory.content, _why(hit))
        for hit in result
    ]
    if rows:
        output.write_rows(("score", "band", "kind", "key", "content", "why"), rows)
    if show.explain:
        _write_parts(result)
    _write_notes(result)


def _why(hit: Hit) -> str:
    """Reasons, and the status where it is not simply current."""
    marks = [] if hit.memory.status == "active" else [str(hit.memory.status)]
    return "; ".join([*marks, *hit.reasons])


def _write_parts(result: RecallResult) -> None:
    """One row per channel of each hit, then how base and score come about."""
    rows: list[tuple[object, ...]] = []
    for rank, hit in enumerate(result, start=1):
        parts = hit.parts
        if parts is None:
            continue
        for channel in parts.channels:
            share = channel.weight * channel.normalised
            numbers = (channel.raw, channel.normalised, channel.weight, share)
            rows.append((rank, channel.channel, *numbers))
        rows.append((rank, "bias", "", "", "", parts.bias))
        rows.append((rank, f"base ({parts.fusion} fusion of these)", "", "", "", parts.base))
        rows.append((rank, "x decay", "", "", "", parts.decay))
        rows.append((rank, "x importance", "", "", "", parts.importance))
        rows.append((rank, "x confidence", "", "", "", parts.confidence))
        rows.append((rank, "= score", "", "", "", hit.score))
    output.write("")
    output.write_rows(("hit", "part", "raw", "normalised", "weight", "gives"), rows)


def _write_notes(result: RecallResult) -> None:
    if result.abstained:
        exits.print_note(f"nothing recalled: {result.abstain_reason}")
    for conflict in result.conflicts:
        ids = " ".join(conflict.memory_ids)
        exits.print_note(f"these contradict each other: {ids} (group {conflict.conflict_group})")
    if result.degraded:
        exits.print_note(f"degraded: {' '.join(result.degraded)}")


@dataclass(frozen=True)
class ContextOptions:
    """How the context is made."""

    budget: Annotated[
        int, typer.Option(help="Hard limit in tokens, 64 to 32768.", show_default="600")
    ] = 0
    format: Annotated[
        str | None, typer.Option(help="markdown, xml or json.", show_default="markdown")
    ] = None


def context(query: QueryOptions, made: ContextOptions, where: Scoped, out: Output) -> None:
    """Print a prompt-ready context for a request; empty when nothing matters."""
    from recalld.client.values import ContextFormat

    with where.open() as client:
        options = query.fields()
        if made.format:
            options["format"] = texts.option_choice("--format", ContextFormat, made.format)
        built = client.build_context(query.text, token_budget=made.budget, **options)
    if out.json:
        output.write_json(built)
        return
    if built.text:
        output.write(built.text)
    _write_notes(built.recall)
    if built.omitted:
        exits.print_note(f"{len(built.omitted)} did not fit in {built.token_count} tokens")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    command(
        app,
        "recall",
        examples="""
        recalld recall "recommend a snack" -u u1 --explain
        recalld recall -u u1 --filter-key allergy --json
        recalld recall "where do I live" -u u1 --as-of 2026-01-01
        """,
    )(recall)
    command(
        app,
        "context",
        examples="""
        recalld context "plan my trip" -u u1 --budget 800
        recalld context "plan my trip" -u u1 --format xml
        """,
    )(context)
