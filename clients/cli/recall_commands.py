"""Commands that find what matters: recall and context."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import exits, output, texts, trace_commands
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
        float | None,
        typer.Option(
            help="Lowest score, 0 to 1; 0 shows everything. The other side of a conflict comes "
            "along below it, and says so."
        ),
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
        bool, typer.Option("--explain", help="Show what makes each score, and keep a trace.")
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
    """What makes each score, and where to look further."""
    scored = [
        (rank, hit.score, hit.parts)
        for rank, hit in enumerate(result, start=1)
        if hit.parts is not None
    ]
    if scored:
        output.write("")
        trace_commands.write_parts(scored)
    if "trace_not_kept" not in result.degraded:
        exits.print_note(f"recalld trace {result.recall_id} shows every candidate")


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
    """Print a prompt-ready context for a request; empty when nothing matters.

    Everything current goes in when it fits the budget; else what matters most to the request, with
    a share kept for what always holds. Tokens, items and what was left out: with --json.
    """
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
    for reason, count in Counter(str(item.reason) for item in built.omitted).items():
        exits.print_note(f"left out: {count} ({reason})")


@dataclass(frozen=True)
class UsedOptions:
    """What became of a recall."""

    recall_id: Annotated[str, typer.Argument(help="The recall's id (recall --json shows it).")]
    ids: Annotated[
        list[str] | None, typer.Argument(help="Memories that were used.", show_default=False)
    ] = None
    wrong: Annotated[
        list[str] | None, typer.Option(help="A memory that turned out wrong; may be repeated.")
    ] = None
    helpful: Annotated[
        bool | None, typer.Option("--helpful/--not-helpful", help="Whether the recall helped.")
    ] = None


def used(report: UsedOptions, where: Scoped, out: Output) -> None:
    """Report which memories of a recall were used, or wrong: it ranks later recalls."""
    said: dict[str, Any] = {"used": report.ids or (), "corrected": report.wrong or ()}
    if report.helpful is not None:
        said["helpful"] = report.helpful
    with where.open() as client:
        revision = client.report_usage(report.recall_id, **said)
    if out.json:
        output.write_json({"revision": revision})


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
        recalld context "plan my trip" -u u1 --json
        """,
    )(context)
    command(
        app,
        "used",
        examples="""
        recalld used RECALL_ID MEMORY_ID -u u1 --helpful
        recalld used RECALL_ID -u u1 --wrong MEMORY_ID
        """,
    )(used)
