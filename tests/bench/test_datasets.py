"""Reading of evaluation files."""

import gzip

import pytest

from recalld.bench import datasets
from recalld.bench.datasets import DatasetError


def test_gzip_and_plain_files_read_alike(tmp_path):
    """A JSON value is the same from a plain and a packed file."""
    (tmp_path / "a.json").write_text('{"茶": 1}', encoding="utf-8")
    with gzip.open(tmp_path / "b.json.gz", "wt", encoding="utf-8") as file:
        file.write('{"茶": 1}')
    read = [datasets.read_json(p) for p in datasets.files_in(tmp_path)]
    assert read == [{"茶": 1}, {"茶": 1}]


def test_json_lines_keep_line_separators_inside_strings(tmp_path):
    """U+2028 inside a string does not end the line; blank lines are skipped."""
    file = tmp_path / "a.jsonl"
    file.write_bytes('"one\u2028two"\n\n"three"\n'.encode())
    assert datasets.read_json_lines(file) == ["one\u2028two", "three"]


def test_broken_line_is_named(tmp_path):
    """The error says which line is no JSON."""
    file = tmp_path / "a.jsonl"
    file.write_text('{}\n{"open\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=r"a\.jsonl:2"):
        datasets.read_json_lines(file)


def test_missing_path_is_an_error(tmp_path):
    """A path that does not exist is refused."""
    with pytest.raises(DatasetError, match="no such file"):
        datasets.files_in(tmp_path / "nothing")


def test_other_files_of_a_folder_are_not_read(tmp_path):
    """Licences and notes beside the data are passed over."""
    (tmp_path / "LICENSE.txt").write_text("free", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("1", encoding="utf-8")
    assert [p.name for p in datasets.files_in(tmp_path)] == ["a.jsonl"]
