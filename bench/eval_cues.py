"""What cues are worth: the same memories and requests through a real server, with and without.

The set holds memories with cues (`relevant_when`) among memories without, requests that share no
word with memory or cue, and requests that need no memory at all. Every round has a store of its
own. The even memories of the set were used for choosing the scale, the odd ones judge.

    python -m recalld.bench.eval_cues [--path FILE] [--target ADDR] [--json FILE]
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from recalld.bench.report import Cell, Figure, Report, Step, Table, progress, publish
from recalld.bench.target import CALL_TIMEOUT_S, Target, connect, own_server
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import Memory, Scope

SET = Path("tests/data/cue_recall.jsonl")
K = 5
CUE_REASON = "a cue of the writer: "

Found = tuple[bool, bool]


@dataclass(frozen=True)
class Item:
    """One memory of the set; `requests` are those that need it."""

    content: str
    cues: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """What one request brought: contents of the hits, best first, and how many a cue brought."""

    hits: tuple[str, ...]
    by_cue: int


def load(path: Path) -> tuple[list[Item], list[str]]:
    """Memories of the set, and its requests that need none of them.

    Raises:
        OSError, ValueError, KeyError: there is no such set.
    """
    items, unrelated = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "unrelated_request" in row:
            unrelated.append(row["unrelated_request"])
        else:
            cues, requests = row.get("relevant_when", []), row.get("requests", [])
            items.append(Item(row["content"], tuple(cues), tuple(requests)))
    return items, unrelated


def remember(target: Target, items: Sequence[Item], *, with_cues: bool) -> Scope:
    """Writes the memories for a user of their own."""
    scope = Scope(user_id=uuid4().hex)
    memories = [
        MemoryInput(
            memory=Memory(content=item.content, relevant_when=item.cues if with_cues else ())
        )
        for item in items
    ]
    request = RememberRequest(scope=scope, memories=memories, request_id=uuid4().hex)
    target.memory.Remember(request, timeout=CALL_TIMEOUT_S)
    return scope


def ask(target: Target, scope: Scope, text: str) -> Asked:
    """One recall with the server's own cut."""
    request = RecallRequest(scope=scope, text=text, k=K)
    hits = target.recall.Recall(request, timeout=CALL_TIMEOUT_S).hits
    by_cue = sum(any(r.startswith(CUE_REASON) for r in hit.reasons) for hit in hits)
    return Asked(tuple(hit.memory.content for hit in hits), by_cue)


def judge(target: Target, scope: Scope, items: Sequence[Item], step: Step) -> list[Found]:
    """What became of each memory's requests: found among the hits, and first of them."""
    found = []
    for item in items:
        for text in item.requests:
            hits = ask(target, scope, text).hits
            found.append((item.content in hits, hits[:1] == (item.content,)))
            step()
    return found


def run(target: Target, path: Path) -> Report:
    """Both rounds."""
    items, unrelated = load(path)
    figures: dict[str, Figure] = {}
    rows: list[list[Cell]] = []
    cued = [item for item in items if item.requests]
    total = 2 * (sum(len(item.requests) for item in cued) + len(unrelated))
    with progress("cues", total) as step:
        for name, with_cues in (("without", False), ("with", True)):
            scope = remember(target, items, with_cues=with_cues)
            halves = {
                "chosen": judge(target, scope, cued[::2], step),
                "judged": judge(target, scope, cued[1::2], step),
            }
            for half, found in halves.items():
                hit = sum(is_hit for is_hit, _ in found) / len(found)
                best = sum(is_best for _, is_best in found) / len(found)
                figures |= {f"{name}_{half}_hit_at_5": hit, f"{name}_{half}_best_at_1": best}
                rows.append([f"{name} cues, {half}", len(found), hit, best])
            drawn = 0
            for text in unrelated:
                drawn += ask(target, scope, text).by_cue > 0
                step()
            share = drawn / max(1, len(unrelated))
            figures[f"{name}_drawn"] = share
            rows.append([f"{name} cues, needing none", len(unrelated), share, None])
    table = Table("Cues", ["round", "requests", "hit@5 (drawn)", "best@1"], rows)
    return Report({"n": total // 2, **figures}, [table])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--path", type=Path, default=SET, help="a set of the same form")
    parser.add_argument("--target", help="address of a running server; default: one of its own")
    parser.add_argument("--json", type=Path, help="where the figures go")
    given = parser.parse_args()
    if given.target is not None:
        with connect(given.target) as target:
            publish(run(target, given.path), given.json)
        return
    with own_server("onnx") as address, connect(address) as target:
        publish(run(target, given.path), given.json)


if __name__ == "__main__":
    main()
