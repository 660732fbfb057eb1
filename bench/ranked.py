"""Replays a set of questions with known evidence through a server and scores the rankings.

Shared by every set that is "records, questions, gold records". Each corpus is one user of the
server; records are written oldest first in batches, with the server's clock at the newest record
of the batch, and the questions are asked with no cut and the clock a day after the last record.
A record longer than a memory may be is stored in pieces and ranked by its best piece; records that
the server folded into one memory share that memory's place, in the order of the set.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import repeat
from uuid import uuid4

from google.protobuf.struct_pb2 import Struct

from recalld.bench import ablation, baselines
from recalld.bench.metrics import RANK_DEPTH
from recalld.bench.report import Step, progress
from recalld.bench.target import CALL_TIMEOUT_S, Target, clock, timestamp
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest, RecallResponse
from recalld.v1.types_pb2 import Memory, MemoryKind, Scope, StatedBy, Turn

CONTENT_BYTES_MAX = 8192  # of one memory, and of a query
BATCH_RECORDS = 128
K_WHOLE = RANK_DEPTH  # where every record is one memory
K_PIECES = 200  # where some are several: enough to still rank ten records
WORKERS = 4  # corpora stored, or questions asked, at once
ASKED_AFTER = timedelta(days=1)

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_BREAKS = ("\n\n", "\n", "。", ". ", " ")


@dataclass(frozen=True)
class Record:
    """One thing to remember."""

    id: str  # unique in its corpus
    text: str
    time: datetime  # with time zone
    stated_by: StatedBy = StatedBy.STATED_BY_USER
    group: str = ""  # the event it witnesses, where a set says so
    kind: MemoryKind = MemoryKind.MEMORY_KIND_EVENT


@dataclass(frozen=True)
class Question:
    """One question; without gold it must find nothing."""

    text: str
    gold: frozenset[str]
    category: str
    context: tuple[Turn, ...] = ()
    newer_gold: frozenset[str] = frozenset()  # the part of gold that holds now, if any is outdated


@dataclass(frozen=True)
class Corpus:
    """The records of one user and the questions about them."""

    name: str
    records: Sequence[Record]
    questions: Sequence[Question]


@dataclass(frozen=True)
class Answer:
    """What the server said to one question."""

    corpus: Corpus
    question: Question
    ranked: list[str]  # record ids, best first, at most 10
    top_score: float  # of the best memory; 0 if there is none


@dataclass
class Stored:
    """Which records a memory of the server stands for."""

    user_id: str
    records: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refused_count: int = 0
    k: int = K_WHOLE


@dataclass(frozen=True)
class Replayed:
    """Answers in the order of the questions, and notes on what was stored.

    Attributes:
        answers: of all channels.
        notes: on what was stored.
        ablated: answers by the channel that was left out.
    """

    answers: list[Answer]
    notes: list[str]
    ablated: dict[str, list[Answer]]


def replay(
    target: Target, corpora: Sequence[Corpus], label: str, without: Sequence[str] = ()
) -> Replayed:
    """Stores every corpus, then asks every question; again without each of these channels.

    Raises:
        grpc.RpcError: a call failed for good.
    """
    run = uuid4().hex[:8]  # a store that is not empty must not answer for an earlier run
    with ThreadPoolExecutor(WORKERS) as pool:
        with progress(f"{label}: remember", sum(len(c.records) for c in corpora)) as step:
            stored = list(pool.map(lambda c: store(target, c, f"{run}-{c.name}", step), corpora))
        asked = [(s, c, q) for c, s in zip(corpora, stored, strict=True) for q in c.questions]
        with progress(f"{label}: recall", len(asked) * (1 + len(without))) as step:

            def ask(pair: tuple[Stored, Corpus, Question], channel: str | None) -> Answer:
                answer = _ask(target, *pair, channel)
                step()
                return answer

            by_channel = {
                channel: list(pool.map(ask, asked, repeat(channel))) for channel in (None, *without)
            }
    answers = by_channel.pop(None)
    ablated = {str(channel): theirs for channel, theirs in by_channel.items()}
    return Replayed(answers, [_stored_note(corpora, stored)], ablated)


def _stored_note(corpora: Sequence[Corpus], stored: Sequence[Stored]) -> str:
    record_count = sum(len(c.records) for c in corpora)
    memory_count = sum(len(s.records) for s in stored)
    refused = sum(s.refused_count for s in stored)
    return (
        f"{record_count} records of {len(corpora)} users in {memory_count} memories; "
        f"pieces the server refused as sensitive: {refused}"
    )


def store(target: Target, corpus: Corpus, user_id: str, step: Step) -> Stored:
    """Writes the records of a corpus, oldest first, as memories of one user."""
    stored = Stored(user_id)
    for batch in _batches(corpus.records):
        pieces = [(r, piece) for r in batch for piece in split(r.text)]
        if len(pieces) > len(batch):
            stored.k = K_PIECES
        for start in range(0, len(pieces), BATCH_RECORDS):
            _remember(target, pieces[start : start + BATCH_RECORDS], stored)
        step(len(batch))
    return stored


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    ordered = sorted(records, key=lambda r: r.time)
    for start in range(0, len(ordered), BATCH_RECORDS):
        yield ordered[start : start + BATCH_RECORDS]


def _remember(target: Target, pieces: Sequence[tuple[Record, str]], stored: Stored) -> None:
    request = RememberRequest(scope=Scope(user_id=stored.user_id), request_id=uuid4().hex)
    for record, text in pieces:
        origin = Struct()
        origin.update({"record": record.id})
        memory = Memory(
            kind=record.kind,
            content=text,
            event_time=timestamp(record.time),
            stated_by=record.stated_by,
            metadata=origin,
        )
        request.memories.append(MemoryInput(memory=memory))
    now = pieces[-1][0].time
    response = target.memory.Remember(request, metadata=clock(now), timeout=CALL_TIMEOUT_S)
    for (record, _), result in zip(pieces, response.results, strict=True):
        if not result.id:
            stored.refused_count += 1
        elif record.id not in stored.records[result.id]:
            stored.records[result.id].append(record.id)


def request_of(question: Question, stored: Stored) -> RecallRequest:
    """The recall that puts a question to the memories of a corpus, with no cut."""
    return RecallRequest(
        scope=Scope(user_id=stored.user_id),
        text=fit(question.text),
        context=question.context,
        k=stored.k,
        min_score=0.0,
    )


def asked_at(corpus: Corpus) -> datetime:
    """The server's clock when the questions of a corpus are asked."""
    return max(r.time for r in corpus.records) + ASKED_AFTER


def _ask(
    target: Target, stored: Stored, corpus: Corpus, question: Question, without: str | None
) -> Answer:
    request = request_of(question, stored)
    request.weights.extend(ablation.weights(without))
    now = clock(asked_at(corpus))
    response = target.recall.Recall(request, metadata=now, timeout=CALL_TIMEOUT_S)
    top_score = response.hits[0].score if response.hits else 0.0
    return Answer(corpus, question, ranked_records(response, stored.records), top_score)


def ranked_records(response: RecallResponse, records: dict[str, list[str]]) -> list[str]:
    """The records behind the hits, each at its best place, at most ten."""
    ranked = dict.fromkeys(r for hit in response.hits for r in records.get(hit.memory.id, ()))
    return list(ranked)[:RANK_DEPTH]


def baseline_answers(corpora: Sequence[Corpus]) -> dict[str, list[Answer]]:
    """Answers of the trivial rankers to the same questions, by ranker."""
    answers: dict[str, list[Answer]] = defaultdict(list)
    for corpus in corpora:
        documents = [baselines.Document(r.text, r.time) for r in corpus.records]
        for name, rank in baselines.rankers(documents).items():
            for question in corpus.questions:
                ranked = [corpus.records[i].id for i in rank(question.text, RANK_DEPTH)]
                answers[name].append(Answer(corpus, question, ranked, 0.0))
    return dict(answers)


def clean(text: str) -> str:
    """The text without control characters, which a memory may not hold; a blank one is a dash."""
    return _CONTROL.sub(" ", text).strip() or "-"


def fit(text: str) -> str:
    """The end of a query that is too long: what was said last."""
    raw = clean(text).encode()
    return raw[-CONTENT_BYTES_MAX:].decode(errors="ignore")


def split(text: str) -> list[str]:
    """A text in pieces of at most 8192 bytes, cut at paragraphs, lines, sentences or words.

    Returns:
        At least one piece; none is blank.
    """
    rest, pieces = clean(text), []
    while len(rest.encode()) > CONTENT_BYTES_MAX:
        head = rest.encode()[:CONTENT_BYTES_MAX].decode(errors="ignore")
        half = len(head) // 2  # a cut before the middle would make needlessly many pieces
        cut = next((at + len(b) for b in _BREAKS if (at := head.rfind(b)) > half), len(head))
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [p for p in [*pieces, rest] if p]
