"""Filter expressions against a plain reading of what they say."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.client.filters import CONDITION_COUNT_MAX, Expression, F, compile_filter
from recalld.v1 import types_pb2

KEYS = ("a", "b", "c", "d")
LEAVES = st.sampled_from(KEYS)
# Expressions as plain tuples, so that the oracle below shares nothing with the builder.
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
    ),
    max_leaves=6,
)


def build(tree: object) -> Expression:
    match tree:
        case str():
            return F.key(tree)
        case ("not", part):
            return ~build(part)
        case ("and", left, right):
            return build(left) & build(right)
        case ("or", left, right):
            return build(left) | build(right)
    raise AssertionError(tree)


def holds(tree: object, true_keys: set[str]) -> bool:
    match tree:
        case str():
            return tree in true_keys
        case ("not", part):
            return not holds(part, true_keys)
        case ("and", left, right):
            return holds(left, true_keys) and holds(right, true_keys)
        case ("or", left, right):
            return holds(left, true_keys) or holds(right, true_keys)
    raise AssertionError(tree)


def filter_holds(wire: types_pb2.Filter, true_keys: set[str]) -> bool:
    """Must / should / must_not as the contract defines them."""

    def is_true(condition: types_pb2.Condition) -> bool:
        return any(key in true_keys for key in condition.key.values)

    return (
        all(is_true(condition) for condition in wire.must)
        and (not wire.should or any(is_true(condition) for condition in wire.should))
        and not any(is_true(condition) for condition in wire.must_not)
    )


@given(TREES)
def test_what_compiles_means_what_it_says(tree: object) -> None:
    """A compiled filter holds for exactly the assignments for which the expression does."""
    try:
        wire = compile_filter(build(tree))
    except ValueError:
        return
    for bits in range(2 ** len(KEYS)):
        true_keys = {key for place, key in enumerate(KEYS) if bits >> place & 1}
        assert filter_holds(wire, true_keys) == holds(tree, true_keys)


def test_and_not_and_one_or_group_fit() -> None:
    """A conjunction with a negation and one or-group fills all three lists."""
    a, b, c, d = (F.key(key) for key in KEYS)
    wire = compile_filter(a & ~b & (c | d))
    assert [list(condition.key.values) for condition in wire.must] == [["a"]]
    assert [list(condition.key.values) for condition in wire.should] == [["c"], ["d"]]
    assert [list(condition.key.values) for condition in wire.must_not] == [["b"]]


def test_negated_or_group_fits() -> None:
    """~(a | b) refuses both."""
    wire = compile_filter(~(F.key("a") | F.key("b")))
    assert len(wire.must_not) == 2


@pytest.mark.parametrize(
    "expression",
    [
        (F.key("a") | F.key("b")) & (F.key("c") | F.key("d")),
        ~(F.key("a") & F.key("b")),
        F.key("a") | ~F.key("b"),
        F.key("a") | (F.key("b") & F.key("c")),
    ],
)
def test_what_does_not_fit_raises(expression: Expression) -> None:
    """Expressions beyond the three lists raise ValueError."""
    with pytest.raises(ValueError, match="filter: "):
        compile_filter(expression)


def test_python_and_is_refused() -> None:
    """`and` between conditions raises TypeError, since it would drop one of them."""
    with pytest.raises(TypeError, match="not with and, or, not"):
        _ = F.key("a") and F.key("b")


def test_forgotten_brackets_raise() -> None:
    """A comparison without brackets, or anything that is no expression, raises TypeError."""
    with pytest.raises(TypeError):
        _ = F.key("a") & F.meta("order.id") == "x"  # type: ignore[operator]
    with pytest.raises(TypeError):
        _ = F.key("a") | F.meta("order.id") == "x"  # type: ignore[operator]
    with pytest.raises(TypeError, match="no filter expression"):
        compile_filter(False)  # type: ignore[arg-type]


def test_count_of_conditions_is_limited() -> None:
    """One condition more than the limit raises ValueError."""
    expression = F.key("k0")
    for number in range(1, CONDITION_COUNT_MAX):
        expression = expression & F.key(f"k{number}")
    assert len(compile_filter(expression).must) == CONDITION_COUNT_MAX
    with pytest.raises(ValueError, match="33 conditions"):
        compile_filter(expression & F.key("one more"))


def test_every_condition_has_its_field() -> None:
    """Each maker sets the condition that its name says."""
    time = datetime(2026, 1, 1, tzinfo=UTC)
    made = {
        "kind": F.kind("fact", "state"),
        "key": F.key("allergy"),
        "key_prefix": F.key_prefix("location."),
        "namespace_prefix": F.namespace("project/alpha"),
        "agent_id": F.agent("", "planner"),
        "session_id": F.session("s"),
        "source_session_id": F.source_session("s"),
        "source_uri": F.source_uri("doc"),
        "stated_by": F.stated_by("agent"),
        "importance": F.importance("high"),
        "metadata": F.meta("order.id") == "x",
        "event_time": F.event_time(after=time),
        "create_time": F.create_time(before=time),
        "update_time": F.update_time(time, time),
        "id": F.id("m"),
        "language": F.language("zh"),
        "min_confidence": F.min_confidence(0.5),
    }
    assert set(made) == {field.name for field in types_pb2.Condition.DESCRIPTOR.fields}
    for name, expression in made.items():
        assert compile_filter(expression).must[0].WhichOneof("test") == name


def test_metadata_comparisons() -> None:
    """Comparing a metadata path gives the test that the operator says."""
    path = F.meta("order.total")

    def condition(expression: Expression) -> types_pb2.MetadataCondition:
        return compile_filter(expression).must[0].metadata

    assert condition(path == "x").equals.string_value == "x"
    assert condition(path == True).equals.bool_value is True  # noqa: E712
    assert condition(path == 3).equals.number_value == 3.0
    assert condition(path == None).equals.WhichOneof("kind") == "null_value"  # noqa: E711
    assert condition(path >= 3).range == types_pb2.NumberRange(gte=3)
    assert condition(path > 3).range == types_pb2.NumberRange(gt=3)
    assert condition(path <= 3).range == types_pb2.NumberRange(lte=3)
    assert condition(path < 3).range == types_pb2.NumberRange(lt=3)
    assert condition(path.exists()).exists is True
    listed = getattr(condition(path.is_in(["x", 1])), "in")
    assert [value.WhichOneof("kind") for value in listed.values] == ["string_value", "number_value"]
    assert len(compile_filter(path != "x").must_not) == 1
    with pytest.raises(ValueError, match="metadata compares with"):
        _ = path == ["x"]
