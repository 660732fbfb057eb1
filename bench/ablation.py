"""What each channel is worth: the same questions asked again with that channel's weight at nought.

The weights travel with the request, so a real server does the leaving out and the store is written
once. Nothing here ranks or scores.
"""

from collections.abc import Mapping, Sequence

from recalld.bench.report import Cell, Figure, Report, Table
from recalld.v1.recall_service_pb2 import Channel, ChannelWeight

_PREFIX = "CHANNEL_"
CHANNELS: Mapping[str, int] = {
    name.removeprefix(_PREFIX).lower(): number for name, number in Channel.items() if number
}
WHOLE = "-"  # the row of the ranking with all its channels


def check(without: Sequence[str]) -> None:
    """Refuses names that are no channel.

    Raises:
        ValueError: one of them is none; names those there are.
    """
    for name in without:
        if name not in CHANNELS:
            raise ValueError(f"unknown channel {name!r}: one of {', '.join(CHANNELS)}")


def weights(without: str | None) -> list[ChannelWeight]:
    """Weights of a request that leaves this channel out; None leaves nothing out."""
    return [] if without is None else [ChannelWeight(channel=CHANNELS[without], weight=0.0)]


def added(report: Report, ablated: Mapping[str, Mapping[str, Figure]]) -> Report:
    """The report with a table of its figures without each channel, and these among its figures.

    Args:
        report: of all channels.
        ablated: the same figures by the channel that was left out; empty adds nothing.
    """
    if not ablated:
        return report
    names = [name for name in next(iter(ablated.values())) if name != "n"]
    rows: list[list[Cell]] = [
        [channel, *(_cell(figures[name]) for name in names)]
        for channel, figures in [(WHOLE, report.figures), *ablated.items()]
    ]
    flat = {
        f"without_{channel}_{name}": figures[name]
        for channel, figures in ablated.items()
        for name in names
    }
    table = Table("The same without one channel", ["without", *names], rows)
    return Report(
        {**report.figures, **flat}, [*report.tables, table], report.notes, report.baseline
    )


def _cell(value: Figure) -> Cell:
    return " ".join(value) if isinstance(value, list) else value
