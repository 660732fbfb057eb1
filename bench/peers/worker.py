"""One peer in a process of its own: `python -m recalld.bench.peers.worker NAME DATA RESULT`.

DATA is an .npz with `stored` and `queries`, float32[n, dim] and float32[q, dim]; RESULT becomes a
JSON object. Runs in the environment of `make bench-peers`, which has the peers but not the server.
"""

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from recalld.bench.peers.stores import OFFLINE, STORES

ROUNDS = 2


def main(name: str, data: Path, result: Path) -> None:
    """Fills the peer and asks every query, in rounds; the quickest round is told."""
    with np.load(data) as arrays:
        stored, queries = arrays["stored"], arrays["queries"]
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        start = time.perf_counter()
        search = STORES[name](Path(folder), stored, queries)
        answers = [list(search(number)) for number in range(len(queries))]
        ready_s = time.perf_counter() - start
        rounds = []
        for _ in range(ROUNDS):
            spent = time.process_time()
            times_s = []
            for number in range(len(queries)):
                start = time.perf_counter()
                search(number)
                times_s.append(time.perf_counter() - start)
            rounds.append((times_s, (time.process_time() - spent) / len(queries)))
    times_s, spent_s = min(rounds, key=lambda one: float(np.median(one[0])))
    found = {
        "ready_s": ready_s,
        "times_s": times_s,
        "processor_s": min(spent_s, *(spent for _, spent in rounds)),
        "answers": answers,
    }
    result.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    os.environ.update(OFFLINE)
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
