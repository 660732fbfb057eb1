"""What becomes of sensitive data in a request, by policy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.bench import sensitive_corpus
from recalld.server.errors import SensitiveData
from recalld.server.screened import NOTHING
from recalld.server.screening import Policy, Screen, make_screen
from recalld.server.sealing import Sealer
from recalld.server.sections import SensitiveSection
from recalld.server.sensitive_class import CLASSES, SensitiveClass
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2

SEALER = Sealer(bytes(32))
PHONE, OTHER_PHONE = "13800138000", "13900139000"
CARD = "4111111111111111"
SAMPLES = tuple(s.text for s in sensitive_corpus.sensitive(seed=6, count=20))
ORDINARY = tuple(s.text for s in sensitive_corpus.ordinary(seed=6, count=20))
# Pieces that make one thing out of two, or two out of one.
GLUE = ("", " ", "-", "，", "\n", "[", "]", '"', "(", "password is ", "密码是", "key=", "+86 ", "x")


def screen(default: str = "redact", **policies: str) -> Screen:
    """A filter with the same policy for all classes but those named."""
    settings = {member.label: policies.get(member.label, default) for member in CLASSES}
    return make_screen(SensitiveSection(**settings), SEALER)  # type: ignore[arg-type]


def written(content: str, **fields: object) -> pb.RememberRequest:
    """A request with one memory."""
    memory = types_pb2.Memory(content=content, **fields)  # type: ignore[arg-type]
    return pb.RememberRequest(memories=[pb.MemoryInput(memory=memory)])


def screened_text(text: str, by: Screen) -> str:
    """What a content becomes."""
    request = written(text)
    by.request(request, "acme", "ann")
    return str(request.memories[0].memory.content)


def told(request: pb.RememberRequest, by: Screen) -> list[tuple[str, int, int]]:
    """What the writer is told."""
    fields = by.request(request, "acme", "ann").told()
    return [(one.field, one.sensitive_class, one.action) for one in fields]


def test_redacting_leaves_a_placeholder() -> None:
    """A redacted value is replaced by its class, and the writer learns field and class."""
    request = written(f"call {PHONE} or {OTHER_PHONE}")
    assert told(request, screen()) == [("memories[0].memory.content", 3, 1)]
    assert request.memories[0].memory.content == "call [phone] or [phone]"


def test_rejecting_names_field_and_class_only() -> None:
    """A refusal names field and class, and neither its text nor its parts hold the value."""
    with pytest.raises(SensitiveData) as caught:
        screen(bank_card="reject").request(written(f"pay with {CARD}"), "acme", "ann")
    error = caught.value
    assert (error.field, error.sensitive_class) == ("memories[0].memory.content", "bank_card")
    assert CARD not in f"{error} {error.args} {error.problem}"


def test_allowing_changes_nothing() -> None:
    """What is allowed stays byte for byte, and the request counts as not screened."""
    request = written(f"call {PHONE}, card {CARD}", key="k")
    before = request.SerializeToString(deterministic=True)
    assert screen("allow").request(request, "acme", "ann") is NOTHING
    assert request.SerializeToString(deterministic=True) == before


def test_sealing_tells_equal_values_without_showing_them() -> None:
    """Spellings of one number get one placeholder, other numbers and other users' get others."""
    by = screen("seal")
    same = {screened_text(t, by) for t in (PHONE, "138 0013 8000", "１３８００１３８０００")}
    assert len(same) == 1
    assert screened_text(OTHER_PHONE, by) not in same
    request = written(PHONE)
    screened = by.request(request, "acme", "bob")
    assert request.memories[0].memory.content not in same
    assert dict(screened.originals) == {request.memories[0].memory.content: PHONE}
    assert PHONE not in repr(screened)


def test_names_are_refused_instead_of_replaced() -> None:
    """A key, a name in free data and a request id must not hold sensitive data, nor be changed."""
    at = "memories[0].memory"
    for request, field in (
        (written("x", key=f"contact.{PHONE}"), f"{at}.key"),
        (written("x", key="mail/ann.lee@example.com"), f"{at}.key"),
        (written("x", metadata={PHONE: "mum"}), f"{at}.metadata key"),
        (pb.RememberRequest(request_id=PHONE), "request_id"),
    ):
        with pytest.raises(SensitiveData) as caught:
            screen().request(request, "acme", "ann")
        assert caught.value.field == field
        assert PHONE not in str(caught.value)


def test_identities_are_left_alone() -> None:
    """A user may be called by a telephone number: the scope is not screened."""
    scope = types_pb2.Scope(user_id=PHONE, session_id=PHONE)
    request = pb.RememberRequest(scope=scope)
    assert screen("reject").request(request, "acme", PHONE) is NOTHING
    assert request.scope == scope


def test_a_value_goes_from_all_fields() -> None:
    """What a sentence tells is replaced where no sentence tells of it."""
    request = written(
        "the wifi password is hunter22",
        relevant_when=["typing hunter22"],
        metadata={"note": {"was": ["hunter22"]}},
    )
    screen().request(request, "acme", "ann")
    assert "hunter22" not in str(request)
    assert request.memories[0].memory.relevant_when == ["typing [password]"]


def test_numbers_of_free_data_are_texts() -> None:
    """A telephone that was sent as a number is found, and becomes the text of its placeholder."""
    request = written("x", value={"phone": int(PHONE), "count": 12})
    screen().request(request, "acme", "ann")
    assert dict(request.memories[0].memory.value) == {"phone": "[phone]", "count": 12.0}


def test_names_of_free_data_are_not_told() -> None:
    """The answer is kept under its request id, also when the memory is purged: it holds no text."""
    request = written("x", metadata={"her lover": PHONE, "list": [{"of others": PHONE}]})
    redacted = types_pb2.SENSITIVE_ACTION_REDACTED
    where = "memories[0].memory.metadata"
    assert told(request, screen()) == [(where, types_pb2.SENSITIVE_CLASS_PHONE, redacted)]


@pytest.mark.parametrize(("text", "kept"), [(f"call {PHONE}", False), ("no number", True)])
def test_a_vector_of_what_was_replaced_goes(text: str, kept: bool) -> None:
    """A given vector would tell of the original, so it goes with it."""
    request = written(text)
    request.memories[0].vector.floats.values.extend([1.0, 2.0])
    request.memories[0].vector_fingerprint = "f"
    screen().request(request, "acme", "ann")
    assert request.memories[0].HasField("vector") is kept
    assert bool(request.memories[0].vector_fingerprint) is kept


def test_what_chooses_memories_becomes_what_they_became() -> None:
    """The content of a Forget is never refused; its original is known beside it."""
    request = pb.ForgetRequest(content=f"card {CARD}")
    screened = screen("reject").request(request, "acme", "ann")
    assert request.content == "card [bank_card]"
    assert dict(screened.selectors) == {"content": f"card {CARD}"}
    assert screened.fields == ()


def test_what_is_not_kept_is_not_screened() -> None:
    """The text of a recall is left as it is."""
    request = recall_service_pb2.RecallRequest(text=f"whose number is {PHONE}?")
    assert screen("reject").request(request, "acme", "ann") is NOTHING
    assert request.text == f"whose number is {PHONE}?"


def test_text_that_hides_numbers_behind_each_other_is_refused() -> None:
    """Numbers of which each is found only when the one before is gone come to an end."""
    with pytest.raises(SensitiveData, match="too much of it"):
        screened_text("".join(f"(010)6552{number}" for number in range(1000, 1020)), screen())


@given(
    st.lists(st.tuples(st.sampled_from(GLUE), st.sampled_from(SAMPLES + ORDINARY)), max_size=4),
    st.sampled_from(["redact", "seal"]),
)
def test_screening_twice_is_screening_once(pieces: list[tuple[str, str]], policy: str) -> None:
    """What was screened is clean, however its pieces were glued together."""
    by = screen(policy)
    text = "x" + "".join(itertools.chain.from_iterable(pieces))
    once = screened_text(text, by)
    assert screened_text(once, by) == once


@given(st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=3))
def test_ordinary_requests_stay(texts: list[str]) -> None:
    """Requests with ordinary numbers leave the filter byte for byte as they were."""
    request = written(" ".join(texts[:1]), relevant_when=texts, metadata={"a": texts[0]})
    before = request.SerializeToString(deterministic=True)
    assert screen("reject").request(request, "acme", "ann") is NOTHING
    assert request.SerializeToString(deterministic=True) == before


def test_policies_are_those_of_the_settings() -> None:
    """Defaults refuse ids, cards, keys and passwords, and replace telephones and addresses."""
    policies: Mapping[SensitiveClass, Policy] = make_screen(SensitiveSection(), None).policies
    assert {member.label: policy.value for member, policy in policies.items()} == {
        "resident_id": "reject",
        "bank_card": "reject",
        "phone": "redact",
        "email": "redact",
        "api_key": "reject",
        "password": "reject",
    }
