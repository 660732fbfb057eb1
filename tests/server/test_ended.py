"""What a newer statement tells to have ended."""

from __future__ import annotations

import pytest

from recalld.server.claims import Claim
from recalld.server.ended import is_ended, who


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I smoke", "I quit smoking"),
        ("I collect coins", "I gave up collecting coins last year"),
        ("I study chemistry", "I've stopped studying chemistry because of the costs"),
        ("We rent a boat", "We don't rent the boat any more"),
        ("We use Trello", "We replaced Trello with a whiteboard"),
        ("The order 4420 ships on Monday", "The order 4420 was cancelled"),
        ("Tariq coaches the youth team", "Tariq no longer coaches the youth team"),
        ("Goes to the climbing gym on Mondays", "Stopped going to the climbing gym"),
        ("我练瑜伽", "我不练瑜伽了"),
        ("我喝咖啡", "我早就戒了咖啡"),
        ("我每天喝酒", "我戒酒了"),
        ("我骑车上班", "我改坐地铁上班了"),
        ("我在报社工作", "我已经从报社离职了"),
        ("合同881下周签", "合同881已经取消"),
    ],
)
def test_what_has_ended_is_heard(older: str, newer: str) -> None:
    """An end of the same thing, told of the same person, ends what was said."""
    assert is_ended(Claim(older), Claim(newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I smoke", "My brother quit smoking"),
        ("I smoke", "I would like to quit smoking"),
        ("I smoke", "I never quit smoking"),
        ("I collect coins", "I gave up collecting stamps"),
        ("I drink coffee", "I stopped drinking coffee after noon"),
        ("I washed the boat", "I sold the boat"),
        ("The boat is green", "The car was sold"),
        ("The order 4420 ships on Monday", "The order 4421 was cancelled"),
        ("I don't smoke", "I quit smoking"),
        ("The bread is burnt", "The soup is no longer burnt"),
        ("我练瑜伽", "我不练拳击了"),
        ("我练瑜伽", "我妹妹不练瑜伽了"),
        ("我喝咖啡", "我晚上不喝咖啡了"),
        ("我喝咖啡", "我想戒咖啡"),
        ("合同881下周签", "合同882已经取消"),
        ("我去过青岛", "我不去青岛了"),
        ("", "I quit smoking"),
    ],
)
def test_other_ends_end_nothing(older: str, newer: str) -> None:
    """What ends for others, in part, of another thing or only in thought, ends nothing."""
    assert not is_ended(Claim(older), Claim(newer))


@pytest.mark.parametrize(
    ("text", "whom"),
    [
        ("I smoke", {"i"}),
        ("Since May we live in Graz", {"i"}),
        ("My employer is a bank", {"i"}),
        ("我抽烟", {"i"}),
        ("Mia smokes", {"mia"}),
        ("The bread is burnt", set()),
    ],
)
def test_whom_a_statement_is_about(text: str, whom: set[str]) -> None:
    """The speaker is "i", others are told by their names, things by nothing."""
    assert who(Claim(text)) == whom


def test_kin_are_not_the_speaker() -> None:
    """What is said of somebody's kin is not said of the speaker."""
    texts = ["My sister smokes", "我妹妹抽烟", "我闺蜜抽烟", "my best friend smokes"]
    assert all("i" not in who(Claim(text)) and who(Claim(text)) for text in texts)
