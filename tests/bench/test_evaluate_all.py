"""The run of all sets."""

import json
import math

import pytest

from recalld.bench import evaluate_all
from recalld.bench.evaluate_all import Job
from recalld.bench.report import Report, Table


def test_sets_are_found_in_the_folder_and_one_below(tmp_path):
    """By the beginning of their names; pooled scenarios come first; the rest has no path."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "NEXT_DAY.md").touch()
    (tmp_path / "cases" / "next_day_scenarios.jsonl").touch()
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    (tmp_path / "beam100k").mkdir()
    found = list(evaluate_all.jobs(tmp_path))
    assert [(j.set_name, j.pool, j.path and j.path.name) for j in found] == [
        ("next-day", 5, "next_day_scenarios.jsonl"),
        ("next-day", 0, "next_day_scenarios.jsonl"),
        ("next-day", 5, "next_day_fresh.jsonl"),
        ("next-day", 0, "next_day_fresh.jsonl"),
        ("cases", 0, None),
        ("locomo", 0, "locomo"),
        ("beam", 0, "beam100k"),
        ("lifebench", 0, None),
        ("madial", 0, None),
        ("precision", 0, None),
    ]
    assert found[2].path is not None and found[2].path.is_file()


def test_page_holds_figures_and_no_sentence_of_a_case(tmp_path):
    """Notes on cases quote their texts, so the page leaves them out; ids and absent sets stay."""
    cases = Report({"n": 2, "failed": ["c1"]}, [], ["text lacks ['secret sentence']"])
    other = Report(
        {"r_at_5": 0.5}, [Table("By class", ["class"], [["x"]])], ["a note"], {"r_at_5": 0.25}
    )
    results = [(Job("cases", "cases", tmp_path), cases), (Job("locomo", "locomo", tmp_path), other)]
    page = evaluate_all.page(results, [Job("beam", "beam", None)])
    assert "secret sentence" not in page
    for part in ("a note", "c1", "| 50.0  | 25.0 |", "By class", "Not at hand in this run: beam."):
        assert part in page


def test_summary_has_bm25_in_brackets():
    """A figure without a baseline has no brackets, one that is not known is a dash."""
    figures = {"n": 9, "hit_at_5": 0.625, "r_at_5": 0.5, "newest_first": math.nan}
    figures["abstention_auroc"] = None
    line = evaluate_all.summary("beam", Report(figures, baseline={"hit_at_5": 0.5}))
    assert line == "hit@5 62 % (50 %), R@5 50 %, newer statement first -, AUROC of abstention -"
    counts = {"must_passed": 3, "must_total": 4, "should_passed": 1, "should_total": 1}
    assert evaluate_all.summary("cases", Report(counts)) == "must 3 of 4, should 1 of 1"


def test_only_the_block_of_the_readme_changes():
    """What stands before and after the marks stays; a README without them is refused."""
    begin, end = evaluate_all.BLOCK
    readme = f"# a\n{begin}\nold\n{end}\nrest\n"
    assert evaluate_all.with_block(readme, "new") == f"# a\n{begin}\nnew\n{end}\nrest\n"
    with pytest.raises(ValueError, match="no block"):
        evaluate_all.with_block("# a\n", "new")


def test_one_command_writes_page_and_readme(tmp_path, monkeypatch, capsys):
    """Sets at hand are run on a real server, others are said to be left out."""
    begin, end = evaluate_all.BLOCK
    case = {"id": "c", "theme": "x", "level": "must", "setup": [], "expect": {"ok": True}}
    case["query"] = {"op": "list"}
    (tmp_path / "reported_cases.jsonl").write_text(json.dumps(case), encoding="utf-8")
    fresh = tmp_path / "fresh.jsonl"
    fresh.write_text(evaluate_all.FRESH.read_text(encoding="utf-8").split("\n")[0], "utf-8")
    monkeypatch.setattr(evaluate_all, "FRESH", fresh)
    readme, out = tmp_path / "README.md", tmp_path / "out" / "results.md"
    readme.write_text(f"{begin}{end}", encoding="utf-8")
    arguments = ["--sets", str(tmp_path), "--out", str(out), "--readme", str(readme)]
    evaluate_all.main([*arguments, "--embedder", "hash"])
    assert "locomo: not in" in capsys.readouterr().out
    assert "must 1 of 1" in readme.read_text(encoding="utf-8")
    assert "Not at hand in this run: next-day, pooled by 5" in readme.read_text(encoding="utf-8")
    assert "## fresh next-day, singly" in out.read_text(encoding="utf-8")
