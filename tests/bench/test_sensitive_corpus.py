"""The generated sentences: values in place, and the same for the same seed."""

from __future__ import annotations

import re

from recalld.bench import sensitive_corpus as corpus


def test_every_value_stands_in_its_sentence_once() -> None:
    """Sentences hold their value; classes and languages are alike in number."""
    samples = list(corpus.sensitive(seed=3, count=50))
    assert all(sample.text.count(sample.value) == 1 for sample in samples if sample.value)
    counts = {kind: sum(s.kind == kind for s in samples) for kind in corpus.MAKERS}
    assert set(counts.values()) == {50}
    chinese = sum(bool(re.search("[\u4e00-\u9fff]", sample.text)) for sample in samples)
    assert 0.4 * len(samples) < chinese < 0.6 * len(samples)


def test_ordinary_sentences_hold_no_value() -> None:
    """Every sort of ordinary number comes as often, without a value."""
    samples = list(corpus.ordinary(seed=3, count=50))
    assert {sample.value for sample in samples} == {""}
    assert len(samples) == 50 * len({sample.kind for sample in samples})


def test_the_seed_decides() -> None:
    """The same seed gives the same sentences, another one others."""
    assert list(corpus.sensitive(1, 20)) == list(corpus.sensitive(1, 20))
    assert list(corpus.ordinary(1, 20)) != list(corpus.ordinary(2, 20))
