"""What the product promises of its speed, and whether a run kept it.

Goals speak of figures by the names that the benches give them, led by the bench's own. Most are
ratios to a baseline of the same run; the others are time or size as a user sees it. It only judges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recalld.bench.report import Cell, Figure, Table

MET, MISSED, UNKNOWN = "met", "MISSED", "not measured"
UNITS = ("us", "ms", "s", "seconds", "bytes")


@dataclass(frozen=True)
class Goal:
    """One promise.

    Attributes:
        what: for people.
        figure: name of the figure, `bench.figure`.
        bound: in `unit`.
        unit: what the figure is in; "" is a ratio.
        at_least: whether the figure has to reach the bound; else it must not pass it.
        beside: name of the baseline's figure in the same run, if it has one of its own.
    """

    what: str
    figure: str
    bound: float
    unit: str = ""
    at_least: bool = False
    beside: str = ""

    def verdict(self, value: Figure) -> str:
        """Whether a figure keeps it; not a number is not measured."""
        if not isinstance(value, int | float) or value != value:
            return UNKNOWN
        kept = value >= self.bound if self.at_least else value <= self.bound
        return MET if kept else MISSED

    def row(self, figures: Mapping[str, Figure]) -> list[Cell]:
        """Cells under `COLUMNS`."""
        value = figures.get(self.figure)
        sign = ">=" if self.at_least else "<="
        goal = f"{sign} {self.bound:g} {self.unit}".rstrip()
        baseline = _shown(figures.get(self.beside), _unit_of(self.beside))
        return [self.what, _shown(value, self.unit), baseline, goal, self.verdict(value)]


def _call(name: str, rest: str) -> str:
    return f"recall.{name}_{rest}"


GOALS = (
    Goal(
        "recall by vector, 1,000 memories, 8 clients: calls a second of the echo's",
        _call("vector_1000", "8_clients_of_echo"),
        0.6,
        at_least=True,
    ),
    Goal(
        "recall by vector, 10,000 memories, 8 clients: calls a second of the echo's",
        _call("vector_10000", "8_clients_of_echo"),
        0.5,
        at_least=True,
    ),
    Goal("recall by key: round trip against the echo's", _call("key_1000", "to_echo"), 1.3),
    Goal("refused request: round trip against the echo's", _call("refused", "to_echo"), 1.5),
    Goal(
        "recall by fresh text: p50 less embedding and echo",
        "recall.text_excess_p50_ms",
        1.0,
        "ms",
        beside="recall.text_embed_p50_ms",
    ),
    Goal(
        "recall by vector, 100,000 memories: p50 less the echo's",
        "recall.vector_100000_excess_p50_ms",
        1.0,
        "ms",
        beside="recall.vector_100000_echo_p50_ms",
    ),
    *(
        Goal(
            f"recall@10 at 100,000 memories, a filter that {share} % match",
            f"recall.vector_100000_filter_{share}_recall_at_10",
            0.99,
            at_least=True,
        )
        for share in (1, 10, 100)
    ),
    *(
        Goal(
            f"{kernel} over 10,000 rows: time against a plain sum of its bytes",
            f"kernels.{kernel}_to_read_10000",
            2.0,
            beside=f"kernels.{read}_us_10000",
        )
        for kernel, read in (("scan_int8", "read_int8"), ("rescore_float32", "read_float32"))
    ),
    Goal(
        "search of 1,000 memories by text, all channels: processor time",
        "search.text_all_channels_us_1000",
        500.0,
        "us",
        beside="search.NumPy_nearest_us_1000",
    ),
    Goal(
        "durable write of one memory: p50",
        "writes.single_p50_ms",
        4.0,
        "ms",
        beside="writes.sync_p50_ms",
    ),
    Goal(
        "durable writes in batches of 64, 8 clients: memories a second",
        "writes.batch_8_clients_per_s",
        2_000.0,
        at_least=True,
    ),
    Goal(
        "ready after a restart with 100,000 memories",
        "restart.ready_100000_s",
        5.0,
        "s",
        beside="restart.empty_ready_s",
    ),
    Goal(
        "ready after a restart with 1,000,000 memories",
        "restart.ready_1000000_s",
        60.0,
        "s",
        beside="restart.empty_ready_s",
    ),
    Goal(
        "resident memory against vectors and text", "restart.held_to_vectors_and_text_100000", 1.6
    ),
    Goal(
        "errors under open-loop load at 70 % of the peak", "load.errors", 0.0, beside="load.seconds"
    ),
    *(
        Goal(
            f"recalls beside {work}: p99 against the quiet one",
            f"disturbance.{work.replace(' ', '_')}_p99_to_quiet",
            1.5,
            beside=f"disturbance.{work.replace(' ', '_')}_quiet_p99_ms",
        )
        for work in (
            "snapshot",
            "checkpoints",
            "purge of a small user",
            "purge of the large user",
        )
    ),
)

COLUMNS = ("goal", "figure", "baseline", "bound", "verdict")


def table(figures: Mapping[str, Figure], goals: Sequence[Goal] = GOALS) -> Table:
    """Every goal with its figure and verdict."""
    return Table("Goals", COLUMNS, [goal.row(figures) for goal in goals])


def table_of(bench: str, figures: Mapping[str, Figure]) -> Table:
    """The goals that one bench measures, of its figures as it names them."""
    named = {f"{bench}.{name}": value for name, value in figures.items()}
    return table(named, [goal for goal in GOALS if goal.figure.startswith(f"{bench}.")])


def _unit_of(figure: str) -> str:
    """The unit in a figure's name."""
    return next((part for part in reversed(figure.split("_")) if part in UNITS), "")


def _shown(value: Figure, unit: str) -> str | None:
    if not isinstance(value, int | float) or value != value:
        return None
    return f"{value:,.4g} {unit}".rstrip()
