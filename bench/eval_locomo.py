"""LoCoMo: long conversations between two people; one memory is one turn.

Categories 1 to 4 count; category 5 asks about the wrong speaker, its evidence is the turn that
misleads, so it is reported apart. The set may not be redistributed: it is read from where the
caller has it. Source: Maharana et al., arXiv 2402.17753.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recalld.bench import ablation, ranked_report
from recalld.bench.datasets import DatasetError, files_in, read_json
from recalld.bench.ranked import (
    Answer,
    Corpus,
    Question,
    Record,
    baseline_answers,
    replay,
)
from recalld.bench.report import Report
from recalld.bench.target import Target

ADVERSARIAL = 5
CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    ADVERSARIAL: "5 adversarial",
}
TURN_SPACING = timedelta(seconds=30)  # turns have no time of their own: only their order is known

_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION = re.compile(r"session_(\d+)")


def load(path: Path) -> list[Corpus]:
    """The conversations of a file, or of all files of a folder that hold some.

    Raises:
        DatasetError: there is none.
    """
    samples: list[Any] = []
    for file in files_in(path):
        value = read_json(file) if ".jsonl" not in file.name else []
        values = value if isinstance(value, list) else [value]
        samples += [s for s in values if isinstance(s, dict) and "conversation" in s and "qa" in s]
    if not samples:
        raise DatasetError(f"{path}: no conversation with questions")
    return [_corpus(sample, i) for i, sample in enumerate(samples, start=1)]


def _corpus(sample: Mapping[str, Any], number: int) -> Corpus:
    records = _records(sample["conversation"])
    known = {r.id for r in records}
    questions = [
        Question(
            text=str(q["question"]),
            gold=evidence(q.get("evidence", []), known),
            category=CATEGORIES.get(q["category"], str(q["category"])),
        )
        for q in sample["qa"]
    ]
    return Corpus(str(sample.get("sample_id", number)), records, questions)


def _records(conversation: Mapping[str, Any]) -> list[Record]:
    numbers = sorted(int(m.group(1)) for key in conversation if (m := _SESSION.fullmatch(key)))
    records = []
    for number in numbers:
        start = session_time(conversation[f"session_{number}_date_time"])
        for i, turn in enumerate(conversation[f"session_{number}"]):
            text = f"{turn['speaker']}: {turn['text']}"
            if turn.get("blip_caption"):
                text += f" [{turn['blip_caption']}]"
            records.append(Record(turn["dia_id"], text, start + i * TURN_SPACING))
    return records


def session_time(text: str) -> datetime:
    """`1:56 pm on 8 May, 2023` as an instant (UTC: the set names no zone).

    Raises:
        DatasetError: it is written otherwise.
    """
    try:
        return datetime.strptime(text.strip().upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
    except ValueError as error:
        raise DatasetError(f"session time: {error}") from error


def evidence(entries: list[str], known: set[str]) -> frozenset[str]:
    """Turn ids in the evidence, cleaned of typing errors; ids that name no turn are dropped."""
    found = (f"D{s}:{t}" for entry in entries for s, t in _EVIDENCE.findall(str(entry)))
    return frozenset(turn for turn in found if turn in known)


def _counted(answers: Sequence[Answer]) -> list[Answer]:
    """Those of categories 1 to 4."""
    return [a for a in answers if a.question.category != CATEGORIES[ADVERSARIAL]]


def run(target: Target, path: Path, without: Sequence[str] = ()) -> Report:
    """Replays the set and scores categories 1 to 4."""
    corpora = load(path)
    replayed = replay(target, corpora, "locomo", without)
    trivial = {name: _counted(theirs) for name, theirs in baseline_answers(corpora).items()}
    counted = _counted(replayed.answers)
    misled = [a for a in replayed.answers if a.question.category == CATEGORIES[ADVERSARIAL]]
    report = Report(
        figures=ranked_report.figures(counted),
        tables=[
            ranked_report.category_table("LoCoMo, turn level, categories 1-4", counted),
            ranked_report.category_table("LoCoMo, category 5 apart", misled),
            ranked_report.baseline_table(counted, trivial),
        ],
        notes=[*replayed.notes, ranked_report.against_bm25(counted, trivial)],
        baseline=ranked_report.figures(trivial["BM25"]),
    )
    ablated = {
        name: ranked_report.figures(_counted(some)) for name, some in replayed.ablated.items()
    }
    return ablation.added(report, ablated)
