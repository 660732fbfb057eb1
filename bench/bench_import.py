"""How fast a year of somebody's records comes in, and how much memory the server takes for it.

`python -m recalld.bench.bench_import PATH` reads phone records (the format of LifeBench), writes
them through a real server with its own embedder, and prints records a second and peak memory.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recalld.bench.eval_lifebench import load
from recalld.bench.ranked import BATCH_RECORDS, WORKERS, store
from recalld.bench.report import (
    Figure,
    Report,
    Table,
    progress,
    provenance,
    publish,
)
from recalld.bench.target import CALL_TIMEOUT_S, connect, server_process
from recalld.v1.admin_service_pb2 import GetStatsRequest

RSS_LIMIT_BYTES = 1_500_000_000  # for 20,241 records
MIB = 1 << 20


def run(path: Path, embedder: str = "onnx") -> Report:
    """Imports every person's records, several people at once, one batch of each in flight."""
    corpora = load(path)
    record_count = sum(len(c.records) for c in corpora)
    with server_process(embedder) as server, connect(server.target) as target:
        idle = peak_rss_bytes(server.process.pid)
        start = time.perf_counter()
        with progress("import", record_count) as step, ThreadPoolExecutor(WORKERS) as pool:
            stored = list(pool.map(lambda c: store(target, c, c.name, step), corpora))
        took_s = time.perf_counter() - start
        stats = target.admin.GetStats(GetStatsRequest(), timeout=CALL_TIMEOUT_S)
        peak = peak_rss_bytes(server.process.pid) or stats.rss_bytes
    figures: dict[str, Figure] = {
        **provenance(),
        "records": record_count,
        "memories": sum(len(s.records) for s in stored),
        "seconds": took_s,
        "records_per_s": record_count / took_s,
        "idle_rss_mib": idle // MIB,
        "peak_rss_mib": peak // MIB,
        "data_mib": stats.data_bytes // MIB,
    }
    measured = [name for name in figures if name not in provenance()]
    rows = [[name, f"{figures[name]:.1f}"] for name in measured]
    verdict = "within" if peak <= RSS_LIMIT_BYTES else "OVER"
    note = f"batches of {BATCH_RECORDS}; peak memory is {verdict} {RSS_LIMIT_BYTES / 1e9:.1f} GB"
    return Report(figures, [Table("Import", ["measure", "value"], rows)], [note])


def peak_rss_bytes(pid: int) -> int:
    """Most resident memory a process ever had; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    line = next((x for x in status.splitlines() if x.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(line.split()[1]) * 1024


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--embedder", default="onnx")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    publish(run(arguments.path, arguments.embedder), arguments.json)


if __name__ == "__main__":
    main()
