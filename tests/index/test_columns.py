"""Columns as immutable views."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.columns import KEY, Columns, IndexRow
from recalld.index.dictionary import Dictionary


def row(label: int, **values) -> IndexRow:
    """Make a row."""
    return IndexRow(label, "text", 1, **values)


def seen(view: Columns) -> list[tuple]:
    """Read everything a view shows."""
    return [
        (
            int(view.labels[r]),
            int(view.alive[r]),
            float(view.confidence[r]),
            view.small[:, r].tolist(),
            view.times[:, r].tolist(),
            [d.values[n] for d, n in zip(view.dictionaries, view.strings[:, r], strict=True)],
            dict(view.objects.values[view.metadata[r]]),
        )
        for r in range(view.count)
    ]


def shown(r: IndexRow, alive: int = 1) -> tuple:
    """Say what a view must show of a row."""
    values = (list(r.small()), list(r.times()), list(r.strings()), dict(r.metadata))
    return (r.label, alive, float(np.float32(r.confidence)), *values)


def test_rows_read_back_as_written():
    """Every field of a row is found in the columns."""
    rows = [
        row(7, key="allergy", confidence=0.25, event_time_us=5, metadata={"a": {"b": [1]}}),
        row(9, key="allergy", namespace="p/x", status=2, superseded_time_us=8, language="zh"),
    ]
    view = Columns.empty().appended(rows)
    assert seen(view) == [shown(r) for r in rows]
    assert view.row(9) == 1
    assert view.row(8) == -1


@given(st.lists(st.sampled_from(["add", "update", "remove"]), max_size=25), st.randoms())
def test_views_never_change(steps, random):
    """Whatever is written later, an older view shows what it showed."""
    view = Columns.empty()
    model: dict[int, IndexRow] = {}
    history: list[tuple[Columns, list[tuple]]] = []
    for number, step in enumerate(steps, 1):
        live = sorted(model)
        if step == "add":
            new = [row(number * 10 + i, key=f"k{i}") for i in range(random.randint(1, 3))]
            view = view.appended(new)
            model.update({r.label: r for r in new})
        elif live and step == "update":
            changed = row(random.choice(live), key="k0", status=3, update_time_us=number)
            view = view.updated([changed])
            model[changed.label] = changed
        elif live:
            gone = random.choice(live)
            view = view.removed([view.row(gone)])
            del model[gone]
        history.append((view, seen(view)))
        assert sorted(t for t in seen(view) if t[1]) == sorted(shown(r) for r in model.values())
        assert view.live_count == len(model)
    for older, expected in history:
        assert seen(older) == expected


def test_compaction_keeps_the_chosen_rows():
    """A compacted view shows the kept rows, in order, with fresh dictionaries."""
    rows = [row(n, key=f"k{n}", metadata={"n": n}) for n in range(1, 6)]
    view = Columns.empty().appended(rows).removed([0, 3])
    small = view.compacted(np.array([1, 2, 4]))
    assert seen(small) == [shown(rows[1]), shown(rows[2]), shown(rows[4])]
    assert small.row(5) == 2
    assert small.row(1) == -1
    assert small.dictionaries[KEY].values == ["", "k2", "k3", "k5"]


def test_equal_values_share_a_number():
    """A dictionary numbers a value once; the order of JSON keys does not matter."""
    dictionary = Dictionary()
    assert [dictionary.enter(name) for name in ("x", "", "y", "x")] == [1, 0, 2, 1]
    assert dictionary.number("z") == -1
    view = Columns.empty().appended(
        [row(1, metadata={"a": 1, "b": 2}), row(2, metadata={"b": 2, "a": 1}), row(3)]
    )
    assert view.metadata[:3].tolist() == [1, 1, 0]
