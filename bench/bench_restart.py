"""How soon a full server is ready again, and what it holds in memory for each memory.

    python -m recalld.bench.bench_restart [--quick] [--memories 1000000] [--json FILE]

Users of a thousand memories each. Ready means that the server says so and has answered one recall.
Then every user is asked once, so that whatever is loaded on demand is loaded, and resident memory
is held against the bytes of vectors and text, less what an empty server takes. The model-free
embedder stores one vector of a memory; the default model stores two.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from recalld.bench import goals
from recalld.bench.corpus import Size, fill, serving, unit_vectors
from recalld.bench.load import RECALL_METHOD, raw_call
from recalld.bench.processor import resident_bytes, spent_s
from recalld.bench.report import QUICK, Cell, Figure, Report, Table, command, provenance
from recalld.bench.requests import by_vector

MEMORIES, QUICK_MEMORIES = 100_000, 10_000
USER_SIZE = 1_000


def run(memories: int) -> Report:
    """Makes the store, starts a server on it, kills it and starts it again."""
    users = [f"user-{i}" for i in range(max(1, memories // USER_SIZE))]
    bodies = by_vector(users, unit_vectors(len(users), seed=2))
    with TemporaryDirectory(prefix="recalld-bench-") as name:
        start = time.perf_counter()
        with serving() as empty:
            empty_s = time.perf_counter() - start
            idle_bytes = resident_bytes(empty.process.pid)
        size = fill(Path(name), {user: memories // len(users) for user in users})
        start = time.perf_counter()
        with serving(Path(name)) as server:
            _ask(server.target, bodies[:1])
            first_s = time.perf_counter() - start
            spent = spent_s(server.process.pid)
            ready_bytes = resident_bytes(server.process.pid)
            start = time.perf_counter()
            _ask(server.target, bodies)
            all_s = time.perf_counter() - start
            held_bytes = resident_bytes(server.process.pid)
            server.kill()
            start = time.perf_counter()
            server.restart()
            _ask(server.target, bodies[:1])
            killed_s = time.perf_counter() - start
    times = {
        "empty_ready_s": empty_s,
        "ready_s": first_s,
        "ready_processor_s": spent,
        "all_users_s": all_s,
    }
    times["ready_after_kill_s"] = killed_s
    sizes = {"idle_bytes": idle_bytes, "ready_bytes": ready_bytes, "held_bytes": held_bytes}
    return _report(size, times, sizes)


def _ask(address: str, bodies: list[bytes]) -> None:
    call, close = raw_call(address, RECALL_METHOD, bodies)
    for number in range(len(bodies)):
        assert call(number), "a recall was refused"
    close()


def _report(size: Size, times: dict[str, float], sizes: dict[str, int]) -> Report:
    held = sizes["held_bytes"] - sizes["idle_bytes"]
    figures: dict[str, Figure] = {**provenance(), "memories": size.rows, **times, **sizes}
    figures |= {
        # Named after their number, so that a small run does not answer for a large one.
        f"ready_{size.rows}_s": max(times["ready_s"], times["ready_after_kill_s"]),
        "vectors_and_text_bytes": size.bytes,
        "held_per_memory_bytes": held / size.rows,
        f"held_to_vectors_and_text_{size.rows}": held / size.bytes,
    }
    rows: list[list[Cell]] = [
        [name[:-2].replace("_", " "), f"{s:.2f} s"] for name, s in times.items()
    ]
    rows += [
        [f"resident, {name.removesuffix('_bytes')}", f"{n / 1e6:.1f} MB"]
        for name, n in sizes.items()
    ]
    rows += [
        ["vectors and text", f"{size.bytes / 1e6:.1f} MB"],
        ["resident for each memory", f"{held / size.rows:.0f} bytes"],
        ["vectors and text of each memory", f"{size.bytes / size.rows:.0f} bytes"],
        ["resident less idle, against vectors and text", f"{held / size.bytes:.2f}"],
    ]
    title = f"Restart and memory, {size.rows:,} memories"
    return Report(
        figures,
        [Table(title, ("what", "value"), rows), goals.table_of("restart", figures)],
    )


def main() -> None:
    """Command line."""

    def asked(given: argparse.Namespace) -> Report:
        return run(given.memories or (QUICK_MEMORIES if given.quick else MEMORIES))

    command(__doc__, asked, QUICK, ("--memories", {"type": int}))


if __name__ == "__main__":
    main()
