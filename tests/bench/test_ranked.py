"""Pieces, batches and rankings of a set of records and questions."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from recalld.bench import ranked
from recalld.bench.evaluate import own_server
from recalld.bench.ranked import CONTENT_BYTES_MAX, Corpus, Question, Record
from recalld.bench.target import connect
from recalld.v1.recall_service_pb2 import Hit, RecallResponse
from recalld.v1.types_pb2 import Memory

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_short_text_is_one_piece():
    """A text within the limit is stored as it is."""
    assert ranked.split("茶 and tea") == ["茶 and tea"]


def test_long_text_is_cut_at_a_paragraph():
    """The last paragraph break before the limit is where a text is cut."""
    first, second = "a" * 6000, "b" * 6000
    assert ranked.split(f"{first}\n\n{second}") == [first, second]


@given(st.text(alphabet="ab 茶。\n", min_size=1, max_size=40), st.integers(1, 1500))
def test_pieces_fit_and_lose_only_blanks(text, times):
    """No piece is over the limit or blank, and together they hold every character but blanks."""
    pieces = ranked.split(text * times)
    assert pieces
    assert all(p.strip() and len(p.encode()) <= CONTENT_BYTES_MAX for p in pieces)
    kept = "".join("".join(pieces).split())
    assert kept == "".join((text * times).split()) or kept == "-"


def test_control_characters_become_blanks():
    """What a memory may not hold is replaced, line feeds and tabs stay."""
    assert ranked.clean("a\x00b\r\nc\td") == "a b \nc\td"
    assert ranked.clean("\x00") == "-"


def test_long_query_keeps_its_end():
    """Of a query over the limit the end is asked: what was said last."""
    query = ranked.fit("茶" * 5000 + "end")
    assert query.endswith("茶end")
    assert len(query.encode()) <= CONTENT_BYTES_MAX


def test_records_rank_by_their_best_piece():
    """A record that two hits are pieces of ranks once, at the better place."""
    hits = [Hit(memory=Memory(id=i)) for i in ("1", "2", "3")]
    records = {"1": ["long"], "2": ["short"], "3": ["long"]}
    assert ranked.ranked_records(RecallResponse(hits=hits), records) == ["long", "short"]


def test_folded_records_take_a_place_each():
    """Records folded into one memory follow each other, and ten places are the end."""
    hits = [Hit(memory=Memory(id=i)) for i in ("1", "2")]
    records = {"1": [f"r{i}" for i in range(9)], "2": ["x", "y"]}
    places = ranked.ranked_records(RecallResponse(hits=hits), records)
    assert places == [*records["1"], "x"]


def test_corpus_through_a_real_server():
    """Every record is stored, and questions in the words of a record find it first."""
    texts = ["whales in winter", "a green fountain pen", "two kettles " + "and tea " * 1200]
    records = [Record(f"r{i}", t, START + timedelta(days=i)) for i, t in enumerate(texts)]
    questions = [Question(t[:20], frozenset([f"r{i}"]), "c") for i, t in enumerate(texts)]
    corpus = Corpus("tiny", records, questions)
    with own_server("hash") as address, connect(address) as target:
        replayed = ranked.replay(target, [corpus], "tiny")
    assert [a.ranked[0] for a in replayed.answers] == ["r0", "r1", "r2"]
    assert all(a.top_score > 0 for a in replayed.answers)
    assert "3 records of 1 users" in replayed.notes[0]
