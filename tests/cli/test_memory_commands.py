"""remember, get, keys, list and forget against a real server."""

from __future__ import annotations

import json

from recalld.client import Client
from recalld.client.testing import RunningServer

from .conftest import Recalld, run_on_terminal


def test_remember_and_get_by_key(recalld: Recalld) -> None:
    """What `remember` stores, `get --key` shows with its fields."""
    options = ["--key", "allergy", "--importance", "high", "--meta", '{"a": {"b": 1}}']
    ran = recalld("remember", "Allergic to peanuts", "-u", "m1", *options, "--when", "eating out")
    assert ran.code == 0
    outcome, memory_id = ran.out.split()
    assert outcome == "created"
    memory = json.loads(recalld("get", "-u", "m1", "--key", "allergy", "--json").out)
    assert memory["id"] == memory_id
    assert memory["importance"] == "high"
    assert memory["metadata"] == {"a": {"b": 1}}
    assert memory["relevant_when"] == ["eating out"]
    assert "content: Allergic to peanuts" in recalld("get", memory_id, "-u", "m1").lines


def test_event_time_of_another_zone(recalld: Recalld) -> None:
    """A time with a zone is the same instant for everybody."""
    recalld("remember", "a", "-u", "m2", "--key", "a", "--event-time", "2026-11-01T08:00:00+08:00")
    memory = json.loads(recalld("get", "-u", "m2", "--key", "a", "--json").out)
    assert memory["event_time"] == "2026-11-01T00:00:00Z"


def test_remember_reads_lines_from_stdin(recalld: Recalld) -> None:
    """With `-` each line that is not blank becomes one memory, in several calls if need be."""
    lines = [f"fact number {number}" for number in range(70)]
    ran = recalld("remember", "-", "-u", "m3", "--json", stdin="\n".join([*lines, "", "  "]))
    results = [json.loads(line) for line in ran.lines]
    assert len(results) == 70
    assert len({result["revision"] for result in results}) == 2


def test_request_id_makes_repeating_safe(recalld: Recalld) -> None:
    """The same call with the same request id gives the first answer again."""
    call = ["remember", "Prefers aisle seats", "-u", "m4", "--request-id", "r1"]
    assert recalld(*call).out == recalld(*call).out


def test_superseded_ids_are_shown(recalld: Recalld) -> None:
    """A newer value of a key names the one that it replaces."""
    old = recalld("remember", "Lives in Chengdu", "-u", "m5", "--key", "location.home").out.split()
    new = recalld("remember", "Lives in Hangzhou", "-u", "m5", "--key", "location.home").out.split()
    assert new[0] == "superseded_previous"
    assert new[2] == old[1]


def test_what_is_not_there_is_exit_code_3(recalld: Recalld) -> None:
    """An unknown key and an unknown id end with 3 and the reason on stderr."""
    for which in (["--key", "nothing"], ["0" * 32]):
        ran = recalld("get", "-u", "m6", *which)
        assert (ran.code, ran.out) == (3, "")
        assert "(MEMORY_NOT_FOUND" in ran.err
    assert recalld("forget", "-u", "m6", "0" * 32).code == 3


def test_bad_options_are_named(recalld: Recalld) -> None:
    """A wrong kind, a broken JSON value, a wrong time and a refused field end with 2."""
    for options, message in (
        (["--kind", "feeling"], "error: --kind: 'feeling' is none of fact, "),
        (["--importance", "huge"], "error: --importance: 'huge' is none of low, "),
        (["--stated-by", "me"], "error: --stated-by: 'me' is none of user, "),
        (["--visibility", "none"], "error: --visibility: 'none' is none of shared, "),
        (["--value", "{"], "--value: not JSON"),
        (["--value", "[1]"], "--value: not a JSON object"),
        (["--event-time", "yesterday"], "--event-time: 'yesterday' is neither"),
        (["--confidence", "7"], "memory.confidence: must be a number from 0 to 1 (INVALID_FIELD)"),
    ):
        ran = recalld("remember", "x", "-u", "m7", *options)
        assert ran.code == 2
        assert message in ran.err


def test_keys_and_list(recalld: Recalld) -> None:
    """`keys` lists keys in byte order, `list` memories newest first, tab-separated in a pipe."""
    recalld("remember", "b", "-u", "m8", "--key", "k.b", "--event-time", "2026-01-02T00:00:00Z")
    recalld("remember", "a\tb", "-u", "m8", "--key", "k.a", "--event-time", "2026-01-01T00:00:00Z")
    assert [line.split("\t")[0] for line in recalld("keys", "-u", "m8").lines] == ["k.a", "k.b"]
    rows = [line.split("\t") for line in recalld("list", "-u", "m8").lines]
    assert [row[3:] for row in rows] == [["k.b", "active", "b"], ["k.a", "active", "a b"]]
    entries = [json.loads(line) for line in recalld("keys", "k.b", "-u", "m8", "--json").lines]
    assert [entry["key"] for entry in entries] == ["k.b"]


def test_list_says_when_there_is_more(recalld: Recalld) -> None:
    """One page by default with a note on stderr; `--all-pages` gives all."""
    recalld("remember", "-", "-u", "m9", stdin="\n".join(f"fact {n}" for n in range(120)))
    first = recalld("list", "-u", "m9")
    assert len(first.lines) == 100
    assert first.err == "100 of 120 shown; --all-pages shows all\n"
    assert len(recalld("list", "-u", "m9", "--all-pages").lines) == 120


def test_forget_and_undo(recalld: Recalld) -> None:
    """A dry run changes nothing, a forget hides, an undo brings back."""
    memory_id = recalld("remember", "x", "-u", "m10", "--key", "k").out.split()[1]
    assert recalld("forget", "-u", "m10", "--key", "k", "--dry-run").out == "1 would be forgotten\n"
    assert recalld("forget", "-u", "m10", memory_id).out == "1 forgotten\n"
    assert recalld("get", "-u", "m10", "--key", "k").code == 3
    undone = json.loads(recalld("forget", "-u", "m10", memory_id, "--undo", "--json").out)
    assert (undone["count"], undone["ids"]) == (1, [memory_id])
    assert recalld("get", "-u", "m10", "--key", "k").code == 0


def test_forgetting_everything_needs_yes_without_a_terminal(recalld: Recalld) -> None:
    """`--all` without a terminal is refused unless `--yes` is given."""
    recalld("remember", "x", "-u", "m11")
    refused = recalld("forget", "-u", "m11", "--all")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert recalld("forget", "-u", "m11", "--all", "--yes").out == "1 forgotten\n"


def test_forgetting_everything_asks_on_a_terminal(
    recalld: Recalld, real_server: RunningServer
) -> None:
    """On a terminal `--all` asks first: no leaves everything, yes forgets it."""
    recalld("remember", "x", "-u", "m13")
    arguments = ["-m", "recalld.cli.main", "forget", "--all", "-u", "m13"]
    env = {"RECALLD_TARGET": real_server.target}
    code, shown = run_on_terminal(arguments, typed=b"n\n", env=env)
    assert (code, "nothing was changed" in shown) == (1, True)
    code, shown = run_on_terminal(arguments, typed=b"y\n", env=env)
    assert (code, "1 forgotten" in shown) == (0, True)


def test_forget_needs_one_selector(recalld: Recalld) -> None:
    """No selector, two selectors, or purge together with undo end with 2."""
    assert recalld("forget", "-u", "m12").code == 2
    assert recalld("forget", "id", "-u", "m12", "--key", "k").code == 2
    assert recalld("forget", "id", "-u", "m12", "--purge", "--undo").code == 2


def test_ids_keep_to_one_line(real_server: RunningServer) -> None:
    """On a terminal of 80 columns the id of each memory listed stands whole on its line."""
    with Client(real_server.target, user_id="m-list") as client:
        id = client.remember("A text that needs several lines " * 9, key="location.home").id
    code, shown = run_on_terminal(
        ["-m", "recalld.cli.main", "list", "-u", "m-list"],
        env={"RECALLD_TARGET": real_server.target, "COLUMNS": "80"},
    )
    assert code == 0
    assert f"{id} " in shown


def test_purge_leaves_a_receipt(recalld: Recalld) -> None:
    """A purge asks without --yes, counts with --dry-run, and shows its receipt."""
    recalld("remember", "a secret of the purge test", "-u", "m-purge")
    assert recalld("forget", "-u", "m-purge", "--all", "--purge").code == 2
    ran = recalld("forget", "-u", "m-purge", "--all", "--purge", "--dry-run")
    assert (ran.code, ran.lines) == (0, ["1 would be purged"])
    ran = recalld("forget", "-u", "m-purge", "--all", "--purge", "--yes")
    assert (ran.code, ran.lines[0]) == (0, "1 purged")
    assert "row_count: 1" in ran.lines
