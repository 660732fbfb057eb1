"""The run of all sets."""

from recalld.bench import evaluate_all
from recalld.bench.evaluate_all import Job
from recalld.bench.report import Report, Table


def test_pooled_scenarios_come_first_and_missing_sets_are_left_out(tmp_path, capsys):
    """Sets are found by the beginning of their folder's name; what is not there is said."""
    (tmp_path / "locomo").mkdir()
    (tmp_path / "beam100k").mkdir()
    found = list(evaluate_all.jobs(tmp_path, tmp_path))
    assert [(j.set_name, j.pool) for j in found] == [
        ("next-day", 5),
        ("next-day", 0),
        ("next-day", 5),
        ("next-day", 0),
        ("cases", 0),
        ("locomo", 0),
        ("beam", 0),
    ]
    assert found[2].path == found[3].path and found[2].path.is_file()
    assert "lifebench: not in" in capsys.readouterr().out


def test_page_holds_figures_and_no_sentence_of_a_case(tmp_path):
    """Notes on cases quote their texts, so the page leaves them out; ids stay."""
    cases = Report({"n": 2, "failed": ["c1"]}, [], ["text lacks ['secret sentence']"])
    other = Report({"r_at_5": 0.5}, [Table("By class", ["class"], [["x"]])], ["a note"])
    page = evaluate_all.page(
        [(Job("cases", "cases", tmp_path), cases), (Job("locomo", "locomo", tmp_path), other)]
    )
    assert "secret sentence" not in page
    assert "a note" in page
    assert "c1" in page
    assert "50.0" in page
    assert "By class" in page
