"""What the words of a request say beyond BM25."""

from recalld.index.analyzer import Analyzer
from recalld.index.columns import Columns, IndexRow
from recalld.index.exact import VectorBlock
from recalld.index.generation import Generation
from recalld.index.postings import Postings
from recalld.index.words import PHRASE_EVIDENCE, read_words
from recalld.scoring.params import Channel


def keyword(request: str, *texts: str) -> list[float]:
    """Keyword evidence of texts for a request."""
    analyzer = Analyzer()
    rows = [IndexRow(label, text, 1) for label, text in enumerate(texts, 1)]
    generation = Generation(
        Columns.empty().appended(rows),
        Postings().appended([analyzer.analyze(text) for text in texts]),
        (VectorBlock.empty(4),),
    )
    found: list[float] = read_words(analyzer, generation, (request,), (1.0,))[Channel.KEYWORD][
        1
    ].tolist()
    return found


def test_a_name_in_its_order_is_more_than_its_characters() -> None:
    """Who bears the name asked for stands out from who bears its characters in another order."""
    right, wrong, other = keyword("林书瑶上什么课", "林书瑶教陶艺", "林瑶书教篆刻", "林舒遥教插花")
    assert right - wrong > PHRASE_EVIDENCE
    assert wrong < PHRASE_EVIDENCE
    assert other < PHRASE_EVIDENCE


def test_a_run_that_many_hold_says_nothing_more() -> None:
    """Three characters that two rows share are no name of either."""
    one, two = keyword("会议室在哪", "会议室有投影仪", "会议室在三楼靠窗那边")
    assert one < PHRASE_EVIDENCE
    alone, _ = keyword("会议室", "会议室有投影仪", "茶水间在三楼")
    assert alone > one
    assert two > 0
