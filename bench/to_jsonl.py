"""Writes an evaluation set as files that `recalld import` takes, with its questions beside them.

    python -m recalld.bench.to_jsonl locomo SET_DIR OUT_DIR
    recalld import OUT_DIR/locomo-1.jsonl --user locomo-1
    recalld recall --user locomo-1 "..."

One pair of files a corpus: `NAME.jsonl` holds the memories, `NAME.questions.jsonl` each question
with the ids of its evidence, which the memories carry in `metadata.id`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from recalld.bench import eval_beam, eval_lifebench, eval_locomo
from recalld.bench.datasets import DatasetError
from recalld.bench.ranked import Corpus, split

LOADERS: dict[str, Callable[[Path], Iterable[Corpus]]] = {
    "beam": eval_beam.load,
    "lifebench": eval_lifebench.load,
    "locomo": eval_locomo.load,
}


def write(corpus: Corpus, name: str, out: Path) -> tuple[int, int]:
    """Write one corpus; returns how many memories and questions."""
    memories = [
        {
            "content": piece,
            "kind": "event",
            "event_time": record.time.isoformat(),
            "metadata": {"id": record.id},
        }
        for record in corpus.records
        for piece in split(record.text)
    ]
    questions = [
        {"question": question.text, "evidence": sorted(question.gold)}
        for question in corpus.questions
    ]
    for suffix, rows in (("jsonl", memories), ("questions.jsonl", questions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (out / f"{name}.{suffix}").write_text(lines, encoding="utf-8")
    return len(memories), len(questions)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.bench.to_jsonl",
        description="Write an evaluation set as files for `recalld import`.",
    )
    parser.add_argument("set", choices=sorted(LOADERS))
    parser.add_argument("path", type=Path, help="folder or file of the set")
    parser.add_argument("out", type=Path, help="folder for the files, made if needed")
    given = parser.parse_args(arguments)
    try:
        corpora = LOADERS[given.set](given.path)
    except (DatasetError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    for number, corpus in enumerate(corpora, 1):
        memories, questions = write(corpus, f"{given.set}-{number}", given.out)
        sys.stdout.write(f"{given.set}-{number}: {memories} memories, {questions} questions\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
