"""The command that writes memories: remember, one or a line each from stdin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import exits, output, texts
from recalld.cli.options import Output, Scoped

if TYPE_CHECKING:
    from recalld.client import Client, NewMemory

# Lines of stdin that are stored in one call, all or nothing.
STDIN_BATCH_COUNT = 64


@dataclass(frozen=True)
class NewMemoryOptions:
    """The memory to store."""

    text: Annotated[
        str, typer.Argument(help="What to remember; - reads one memory a line from stdin.")
    ]
    kind: Annotated[
        str | None,
        typer.Option(
            help="fact, preference, state, event, progress, decision, procedure or document."
        ),
    ] = None
    key: Annotated[str, typer.Option(help="Slot or topic, such as allergy.")] = ""
    importance: Annotated[
        str | None, typer.Option(help="low, medium, high or pinned (never decays).")
    ] = None
    confidence: Annotated[float | None, typer.Option(help="0 to 1.")] = None
    value: Annotated[str | None, typer.Option(help="Structured value, a JSON object.")] = None
    meta: Annotated[str | None, typer.Option(help="Metadata, a JSON object.")] = None
    when: Annotated[
        list[str] | None, typer.Option(help="A cue when it will matter; may be repeated.")
    ] = None
    stated_by: Annotated[
        str | None, typer.Option(help="user, agent, tool or import: whose word it is.")
    ] = None
    visibility: Annotated[str | None, typer.Option(help="shared, private or system.")] = None
    event_time: Annotated[
        str | None, typer.Option(help="When it happened: 2026-11-30, RFC 3339 or seconds.")
    ] = None
    valid_from: Annotated[str | None, typer.Option(help="Start of its truth.")] = None
    valid_to: Annotated[str | None, typer.Option(help="End of its truth.")] = None
    expire_time: Annotated[str | None, typer.Option(help="End of its recall.")] = None
    source_uri: Annotated[str, typer.Option(help="Document it comes from.")] = ""
    request_id: Annotated[
        str | None, typer.Option(help="Makes repeating this call safe (24 hours).")
    ] = None

    def fields(self) -> dict[str, Any]:
        """Everything but the text, as the client takes it."""
        from recalld.client import Importance, Kind, Source, StatedBy, Visibility

        return {
            "kind": texts.option_choice("--kind", Kind, self.kind),
            "key": self.key,
            "importance": texts.option_choice("--importance", Importance, self.importance),
            "confidence": self.confidence,
            "value": texts.option_object("--value", self.value),
            "metadata": texts.option_object("--meta", self.meta),
            "relevant_when": tuple(self.when or ()),
            "stated_by": texts.option_choice("--stated-by", StatedBy, self.stated_by),
            "visibility": texts.option_choice("--visibility", Visibility, self.visibility),
            "event_time": texts.option_time("--event-time", self.event_time),
            "valid_from": texts.option_time("--valid-from", self.valid_from),
            "valid_to": texts.option_time("--valid-to", self.valid_to),
            "expire_time": texts.option_time("--expire-time", self.expire_time),
            "source": Source(uri=self.source_uri) if self.source_uri else None,
        }


def remember(new: NewMemoryOptions, where: Scoped, out: Output) -> None:
    """Store a memory. When this returns, it is durable and the next recall sees it."""
    from recalld.client import NewMemory

    fields = new.fields()
    with where.open() as client:
        if new.text != "-":
            _write_batch(client, [NewMemory(content=new.text, **fields)], new.request_id, out)
            return
        if new.request_id:
            raise ValueError("--request-id: only for a single memory")
        for lines in _stdin_batches():
            batch = [NewMemory(content=line, **fields) for line in lines]
            _write_batch(client, batch, None, out)


def _stdin_batches() -> Iterator[list[str]]:
    """Lines of stdin that are not blank, in batches."""
    batch: list[str] = []
    for line in sys.stdin:
        if line.strip():
            batch.append(line.strip())
        if len(batch) == STDIN_BATCH_COUNT:
            yield batch
            batch = []
    if batch:
        yield batch


def _write_batch(
    client: Client, memories: list[NewMemory], request_id: str | None, out: Output
) -> None:
    options: dict[str, Any] = {"request_id": request_id} if request_id else {}
    written = client.remember(memories, **options)
    for result in written.results:
        for one in result.screened:
            exits.print_note(f"{one.field}: {one.sensitive_class} {one.action}")
        if out.json:
            output.write_json({**output.plain(result), "revision": written.revision})
        else:
            touched = [*result.superseded_ids, *result.conflicting_ids]
            output.write(" ".join([result.outcome, result.id, *touched]))
