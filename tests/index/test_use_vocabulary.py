"""The fast model's SentencePiece file and tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.errors import ModelInvalid
from recalld.index.use_vocabulary import (
    BOS,
    EOS,
    UNK,
    build_tokenizer,
    kept_pieces,
    read_vocabulary,
)
from tests.index.tiny_use import CHARSMAP, PIECES, vocabulary_file

FILE = vocabulary_file()


def test_pieces_and_scores_are_read() -> None:
    """Every piece comes with its score, and the table of characters as it is."""
    read = read_vocabulary(FILE)
    assert read.pieces == tuple((piece, -float(place)) for place, piece in enumerate(PIECES))
    assert read.charsmap == CHARSMAP


def test_other_scripts_go() -> None:
    """Pieces with letters other than Latin and Han ones are left out, special ones never."""
    pieces = read_vocabulary(FILE).pieces
    assert [pieces[i][0] for i in kept_pieces(pieces)] == list(PIECES[:-2])


def test_text_stands_between_its_marks() -> None:
    """A text is cut into kept pieces between start and end; what is unknown is one token."""
    vocabulary = read_vocabulary(FILE)
    kept = kept_pieces(vocabulary.pieces)
    tokenizer = build_tokenizer(vocabulary, kept, 256)
    ids = tokenizer.encode("  ab  花ж ").ids
    assert ids[0] == BOS and ids[-1] == EOS
    named = [vocabulary.pieces[kept[i]][0] for i in ids[1:-1]]
    assert named == ["▁", "a", "b", "▁", "花", "<unk>"]
    assert ids[-2] == UNK


def test_long_text_is_cut() -> None:
    """Of a long text the first tokens count, both marks included."""
    vocabulary = read_vocabulary(FILE)
    tokenizer = build_tokenizer(vocabulary, kept_pieces(vocabulary.pieces), 8)
    ids = tokenizer.encode("abcabcabcabc").ids
    assert len(ids) == 8 and ids[-1] == EOS


@given(st.integers(0, len(FILE) - 1))
def test_cut_file_is_refused(length: int) -> None:
    """A file cut short anywhere is refused as damaged."""
    with pytest.raises(ModelInvalid, match="SentencePiece"):
        read_vocabulary(FILE[:length])


@given(st.binary(max_size=64))
def test_other_files_are_refused(data: bytes) -> None:
    """Bytes that are no such file are refused, never misread."""
    with pytest.raises(ModelInvalid, match="SentencePiece"):
        read_vocabulary(data)
