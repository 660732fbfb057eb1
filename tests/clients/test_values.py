"""Enums of the client against those of the contract."""

from enum import StrEnum

import pytest

from recalld.client import values


@pytest.mark.parametrize("enum", values.WIRE_ENUMS, ids=lambda enum: enum.__name__)
def test_members_are_those_of_the_wire(enum: type[StrEnum]) -> None:
    """Each client enum has exactly the wire enum's names, without the prefix."""
    wrapper, prefix = values.WIRE_ENUMS[enum]
    assert [member.name for member in enum] == [
        name.removeprefix(prefix)
        for name in wrapper.keys()  # noqa: SIM118
    ]


@pytest.mark.parametrize("enum", values.WIRE_ENUMS, ids=lambda enum: enum.__name__)
def test_numbers_round_trip(enum: type[StrEnum]) -> None:
    """Decoding the number of a member gives the member."""
    for member in enum:
        assert values.decode(enum, values.encode(enum, member, "name")) is member


def test_text_of_any_case_is_accepted() -> None:
    """A kind may be given as text in upper or lower case."""
    assert values.encode(values.Kind, "Preference", "name") == 2
    assert values.encode(values.Kind, "fact", "name") == 1


def test_wrong_text_names_what_is_allowed() -> None:
    """A misspelt value raises ValueError that lists the right ones."""
    with pytest.raises(ValueError, match=r"name: 'huge' is none of low, medium, high"):
        values.encode(values.Importance, "huge", "name")


def test_number_of_a_newer_server_is_unspecified() -> None:
    """A number that this version does not know decodes to UNSPECIFIED."""
    assert values.decode(values.Band, 99) is values.Band.UNSPECIFIED
