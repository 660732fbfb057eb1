"""BEAM: long chats with an assistant; one memory is one message.

Besides retrieval: `newest_first`, the share of knowledge updates whose best-ranked statement is the
updated one, and `abstention_auroc`, how well the best score tells answerable questions from those
the chat does not answer. Source: Tavakoli et al., arXiv 2510.27246.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recalld.bench import ablation, ranked_report
from recalld.bench.datasets import DatasetError, files_in, folders_in, named_file, read_json
from recalld.bench.metrics import mean
from recalld.bench.ranked import Answer, Corpus, Question, Record, baseline_answers, replay
from recalld.bench.report import Report
from recalld.bench.target import Target
from recalld.v1.types_pb2 import StatedBy

QUESTIONS_FILE = "probing_questions"
ABSTENTION = "abstention"
UPDATE = "knowledge_update"
MESSAGE_SPACING = timedelta(minutes=1)  # messages have no time of their own but a rare anchor
FIRST_TIME = datetime(2024, 1, 1, tzinfo=UTC)  # of a chat without any anchor

_LEFTOVER = re.compile(r"->->.*$", re.DOTALL)  # of the generator, at the end of user messages


def load(path: Path) -> list[Corpus]:
    """The chats of a folder, or the chat in it.

    Raises:
        DatasetError: there is none.
    """
    corpora = [c for folder in folders_in(path) if (c := _corpus(folder)) is not None]
    if not corpora:
        raise DatasetError(f"{path}: no chat with {QUESTIONS_FILE}")
    return corpora


def _corpus(folder: Path) -> Corpus | None:
    questions_file = named_file(folder, QUESTIONS_FILE)
    if questions_file is None:
        return None
    chat_file = next((f for f in files_in(folder) if f.name.startswith("chat")), None)
    if chat_file is None:
        raise DatasetError(f"{folder}: no chat file")
    records = _records(read_json(chat_file))
    known = {r.id for r in records}
    questions = [
        _question(ability, q, known)
        for ability, asked in read_json(questions_file).items()
        for q in asked
    ]
    return Corpus(folder.name, records, questions)


def _records(batches: Sequence[Mapping[str, Any]]) -> list[Record]:
    messages = {
        str(message["id"]): message
        for batch in batches
        for turn in batch["turns"]
        for message in turn
        if message["role"] in ("user", "assistant")
    }
    anchors = (anchor_time(m.get("time_anchor")) for m in messages.values())
    time = next((a for a in anchors if a), FIRST_TIME)
    records = []
    for message_id, message in messages.items():
        anchor = anchor_time(message.get("time_anchor"))
        time = max(time, anchor) if anchor else time
        by_user = message["role"] == "user"
        said_by = StatedBy.STATED_BY_USER if by_user else StatedBy.STATED_BY_AGENT
        records.append(Record(message_id, _LEFTOVER.sub("", message["content"]), time, said_by))
        time += MESSAGE_SPACING
    return records


def anchor_time(text: str | None) -> datetime | None:
    """`March-15-2024` as an instant; None where there is no anchor or it is written otherwise."""
    try:
        return datetime.strptime(str(text), "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _question(ability: str, question: Mapping[str, Any], known: set[str]) -> Question:
    sources = question.get("source_chat_ids", [])
    updated = sources.get("updated_info", []) if isinstance(sources, dict) else []
    return Question(
        text=question["question"],
        gold=frozenset() if ability == ABSTENTION else _ids(sources, known),
        category=ability,
        newer_gold=_ids(updated, known),
    )


def _ids(value: Any, known: set[str]) -> frozenset[str]:
    return frozenset(i for i in map(str, _leaves(value)) if i in known)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def newest_first(answers: Sequence[Answer]) -> float:
    """Share of knowledge updates whose first gold message within 10 is the updated statement."""
    updates = [a for a in answers if a.question.category == UPDATE and a.question.gold]
    firsts = [next((r for r in a.ranked if r in a.question.gold), None) for a in updates]
    right = [first in a.question.newer_gold for first, a in zip(firsts, updates, strict=True)]
    return mean([float(r) for r in right])


def figures_of(answers: Sequence[Answer]) -> dict[str, float | int]:
    """All figures of the set."""
    return {
        **ranked_report.figures(answers),
        "newest_first": newest_first(answers),
        "abstention_auroc": ranked_report.abstention_auroc(answers),
    }


def _usable(answers: Sequence[Answer]) -> list[Answer]:
    """Without those whose evidence names no message: neither answerable nor to abstain on."""
    return [a for a in answers if a.question.gold or a.question.category == ABSTENTION]


def run(target: Target, path: Path, without: Sequence[str] = ()) -> Report:
    """Replays the set and scores all abilities but abstention."""
    corpora = load(path)
    replayed = replay(target, corpora, "beam", without)
    answers = _usable(replayed.answers)
    trivial = baseline_answers(corpora)
    figures = figures_of(answers)
    bm25 = trivial["BM25"]
    report = Report(
        figures=figures,
        tables=[
            ranked_report.category_table("BEAM, message level", answers),
            ranked_report.baseline_table(answers, trivial),
        ],
        notes=[
            *replayed.notes,
            ranked_report.against_bm25(answers, trivial),
            f"newest first: {100 * figures['newest_first']:.0f} % "
            f"(BM25 {100 * newest_first(bm25):.0f} %); "
            f"abstention AUROC: {figures['abstention_auroc']:.3f}",
        ],
        baseline={**ranked_report.figures(bm25), "newest_first": newest_first(bm25)},
    )
    return ablation.added(
        report, {name: figures_of(_usable(some)) for name, some in replayed.ablated.items()}
    )
