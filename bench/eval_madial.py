"""MADial-Bench: a dialogue that only touches what is remembered; one memory is one event.

The question is the dialogue before the assistant's turn under test; nobody asks outright. It can be
put to the server in two ways, and both are measured: all lines as the text, or the last line as the
text and the earlier ones as context turns. `QUERY_FORM` names the one that counts: how agents ask.
Where a folder holds Chinese and English, Chinese counts: English is its translation.
Source: He et al., arXiv 2409.15240.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from recalld.bench import ablation, ranked_report
from recalld.bench.datasets import DatasetError, files_in, folders_in, named_file, read_json_lines
from recalld.bench.ranked import (
    Corpus,
    Question,
    Record,
    Replayed,
    baseline_answers,
    fit,
    replay,
)
from recalld.bench.report import Report, Table
from recalld.bench.target import Target, parse_time
from recalld.v1.types_pb2 import Turn

MEMORY_FILE = "memory"
CONTEXT_TURNS_MAX = 16
UNDATED = datetime(2023, 1, 1, tzinfo=UTC)

_SPEAKER = re.compile(r"<[^>]*>\s*[:：]?")


class QueryForm(Enum):
    """How a dialogue becomes a request."""

    ALL_AS_TEXT = "all lines as text"
    LAST_AS_TEXT = "last line as text, earlier ones as context"


QUERY_FORM = QueryForm.LAST_AS_TEXT


def load(path: Path, form: QueryForm) -> dict[str, list[Corpus]]:
    """The corpora of a folder by language (or sub-folder); a corpus is one person's memories.

    Raises:
        DatasetError: there is no memory file, or no dialogue beside it.
    """
    folder = path if path.is_dir() else path.parent
    found: dict[str, list[Corpus]] = {}
    for candidate in folders_in(folder):
        memory_file = named_file(candidate, MEMORY_FILE)
        if memory_file is not None:
            files = [path] if path.is_file() else files_in(candidate)
            dialogues = [f for f in files if f != memory_file and ".jsonl" in f.name]
            found[candidate.name] = _corpora(memory_file, dialogues, form)
    if not any(found.values()):
        raise DatasetError(f"{path}: no {MEMORY_FILE}.jsonl with dialogues beside it")
    return found


def _corpora(memory_file: Path, dialogue_files: Sequence[Path], form: QueryForm) -> list[Corpus]:
    memories = {int(i): m for line in read_json_lines(memory_file) for i, m in line.items()}
    by_user: dict[Any, list[Mapping[str, Any]]] = {}
    for file in dialogue_files:
        for dialogue in read_json_lines(file):
            by_user.setdefault(dialogue.get("user-id"), []).append(dialogue)
    corpora = []
    for user, dialogues in by_user.items():
        mine = {i: m for i, m in memories.items() if user in (None, m.get("user-id", user))}
        records = [Record(str(i), _text(m), _time(m)) for i, m in mine.items()]
        questions = [_question(d, {r.id for r in records}, form) for d in dialogues]
        name = f"{memory_file.parent.name}-{'all' if user is None else user}-{form.name.lower()}"
        corpora.append(Corpus(name, records, questions))
    return corpora


def _text(memory: Mapping[str, Any]) -> str:
    return f"{memory.get('scene', '')} {memory.get('emotion', '')} {memory['event']}"


def _time(memory: Mapping[str, Any]) -> datetime:
    try:
        return parse_time(str(memory.get("time")))
    except ValueError:
        return UNDATED


def _question(dialogue: Mapping[str, Any], known: set[str], form: QueryForm) -> Question:
    raw = dialogue["dialogue"][: dialogue["test-turn"][0]]
    lines = [(_role(line), said) for line in raw if (said := _SPEAKER.sub(" ", line).strip())]
    gold = frozenset(i for i in map(str, dialogue["relevant-id"]) if i in known)
    if form is QueryForm.ALL_AS_TEXT or not lines:
        return Question(" ".join(said for _, said in lines), gold, "all dialogues")
    earlier = lines[:-1][-CONTEXT_TURNS_MAX:]
    context = tuple(Turn(role=role, text=fit(said)) for role, said in earlier)
    return Question(lines[-1][1], gold, "all dialogues", context)


def _role(line: str) -> str:
    return "assistant" if line.lstrip().lower().startswith("<assistant>") else "user"


def run(target: Target, path: Path, without: Sequence[str] = ()) -> Report:
    """Replays the set in both forms; the figures are of `QUERY_FORM`, Chinese if it is there."""
    rows, tables, notes = [], [], []
    counted: Replayed | None = None
    baseline: Mapping[str, float | int] = {}
    for form in QueryForm:
        for language, corpora in load(path, form).items():
            counts = form is QUERY_FORM
            replayed = replay(target, corpora, f"madial {language}", without if counts else ())
            mine = ranked_report.figures(replayed.answers)
            row = [mine[name] for name, _, _ in ranked_report.METRICS]
            rows.append([language, form.value, mine["n"], *row])
            if counts:
                trivial = baseline_answers(corpora)
                title = f"MADial-Bench {language}, {form.value}"
                tables.append(ranked_report.baseline_table(replayed.answers, trivial, title=title))
                notes += [*replayed.notes, ranked_report.against_bm25(replayed.answers, trivial)]
                if language == "zh" or counted is None:
                    counted, baseline = replayed, ranked_report.figures(trivial["BM25"])
    assert counted is not None  # `load` refuses a folder without dialogues
    labels = [label for _, label, _ in ranked_report.METRICS]
    both = Table("MADial-Bench, both forms", ["language", "asked with", "n", *labels], rows)
    figures = ranked_report.figures(counted.answers)
    report = Report(figures, [both, *tables], notes, baseline)
    ablated = {name: ranked_report.figures(some) for name, some in counted.ablated.items()}
    return ablation.added(report, ablated)
