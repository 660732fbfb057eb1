"""LifeBench: a year of somebody's phone; one memory is one record.

One real-life event leaves several traces, so besides R@k the share of events found counts
(`ev_r_at_5`). Questions marked unanswerable have no evidence and only serve the AUROC.
Source: arXiv 2603.03781.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recalld.bench import ablation, ranked_report
from recalld.bench.datasets import DatasetError, folders_in, named_file, read_json
from recalld.bench.ranked import (
    Answer,
    Corpus,
    Question,
    Record,
    baseline_answers,
    replay,
)
from recalld.bench.report import Report
from recalld.bench.target import Target, parse_time

TYPES = ("agent_chat", "calendar", "call", "note", "photo", "push", "sms")
QUESTIONS_FILE = "QA_clean"
UNANSWERABLE = "Unanswerable"
METRICS = (*ranked_report.METRICS, ranked_report.EVENT_RECALL)
UNDATED = datetime(2023, 1, 1, tzinfo=UTC)  # for a record without a readable date: before the rest


def load(path: Path) -> list[Corpus]:
    """The people of a folder, or the one person in it.

    Raises:
        DatasetError: there is none.
    """
    corpora = [c for folder in folders_in(path) if (c := _corpus(folder)) is not None]
    if not corpora:
        raise DatasetError(f"{path}: no person with {QUESTIONS_FILE}")
    return corpora


def _corpus(folder: Path) -> Corpus | None:
    questions_file = named_file(folder, QUESTIONS_FILE)
    if questions_file is None:
        return None
    records = load_records(folder)
    known = {r.id for r in records}
    questions = [_question(q, known) for q in read_json(questions_file)]
    return Corpus(folder.name, records, questions)


def load_records(folder: Path) -> list[Record]:
    """The phone records of one person, by type; of a repeated id the first one counts."""
    records: dict[str, Record] = {}
    for kind in TYPES:
        file = named_file(folder, kind)
        for raw in read_json(file) if file else []:
            record_id = f"{kind}:{raw.get('phone_id')}"
            if record_id not in records:
                group = str(raw.get("event_id"))
                text = record_text(kind, raw)
                records[record_id] = Record(record_id, text, _time(raw), group=group)
    return list(records.values())


def _time(raw: Mapping[str, Any]) -> datetime:
    try:
        return parse_time(str(raw.get("datetime") or raw.get("start_time") or raw.get("date")))
    except ValueError:
        return UNDATED


def record_text(kind: str, raw: Mapping[str, Any]) -> str:
    """What is remembered of a phone record."""

    def joined(label: str, *names: str) -> str:
        return " ".join([label, *(str(raw.get(name, "")) for name in names)])

    match kind:
        case "sms":
            return joined("短信", "message_type", "contactName", "message_content")
        case "call":
            return joined("通话", "contactName", "call_result")
        case "note":
            return joined("笔记", "title", "content")
        case "calendar":
            return joined("日程", "title", "description", "start_time")
        case "push":
            return joined(str(raw.get("source", "")), "title", "content")
        case "photo":
            place, tags = _flat(raw.get("location")), _flat(raw.get("imageTag"))
            return f"照片 {raw.get('caption', '')} {tags} {place} {raw.get('ocrText', '')}"
        case _:
            return "对话 " + " ".join(_said(raw.get("conversation")))


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        value = list(value.values())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _said(conversation: Any) -> list[str]:
    turns = conversation.values() if isinstance(conversation, dict) else conversation or []
    sides = [t.get(s) for t in turns if isinstance(t, dict) for s in ("user", "assistant")]
    return [str(s.get("content", "") if isinstance(s, dict) else s) for s in sides if s]


def _question(question: Mapping[str, Any], known: set[str]) -> Question:
    category = str(question.get("question_type"))
    # Some entries hold the whole record in place of its type and id.
    entries = [e for e in question.get("evidence") or [] if isinstance(e, dict)]
    ids = (f"{e.get('type')}:{e.get('id', e.get('phone_id'))}" for e in entries)
    gold = frozenset(i for i in ids if i in known and category != UNANSWERABLE)
    return Question(question["question"], gold, category)


def _usable(answers: Sequence[Answer]) -> list[Answer]:
    """Without those whose evidence names no record: neither answerable nor unanswerable."""
    return [a for a in answers if a.question.gold or a.question.category == UNANSWERABLE]


def run(target: Target, path: Path, without: Sequence[str] = ()) -> Report:
    """Replays the set and scores the answerable questions."""
    corpora = load(path)
    replayed = replay(target, corpora, "lifebench", without)
    answers = _usable(replayed.answers)
    trivial = baseline_answers(corpora)
    auroc = ranked_report.abstention_auroc(answers)
    report = Report(
        figures=ranked_report.figures(answers, METRICS),
        tables=[
            ranked_report.category_table("LifeBench, record level", answers, METRICS),
            ranked_report.baseline_table(answers, trivial, METRICS),
        ],
        notes=[
            *replayed.notes,
            ranked_report.against_bm25(answers, trivial),
            f"AUROC answerable against unanswerable: {auroc:.3f}",
        ],
        baseline=ranked_report.figures(trivial["BM25"], METRICS),
    )
    ablated = {
        name: ranked_report.figures(_usable(some), METRICS)
        for name, some in replayed.ablated.items()
    }
    return ablation.added(report, ablated)
