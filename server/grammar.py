"""Words that tell the parts of an English statement apart: general knowledge, no test sentences.

Catalogues and nothing else; `subjects` reads them. All are in lower case.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OWNERS = _words("the a an my our your his her their this that these those")
ONLY_ONE = OWNERS - _words("a an this that these those") | _words("mine ours yours hers theirs")
"""After "is" they begin what only one can be: "Ann is my boss"."""
PRONOUNS = _words(
    """i i'm i've i'd i'll we we're we've we'll you you're he he's she she's it it's they they're
    they've"""
)
NAMELESS = _words(
    """only everyone everybody everything nobody nothing none somebody someone anyone anybody
    both neither either each all most many some few one two another half"""
)
GENERAL = _words("vip ceo cto cfo it hr dr mr mrs ms prof")
"""What is written in capitals before a name and is none."""
ADVERBS = _words("never always often usually sometimes still also now just really currently no")
BEING = _words("is are was were")
AUXILIARIES = BEING | _words(
    "has have had can cannot could will would should must may does do did am be been"
)
PAST = _words(
    """went left took got made ran came paid kept held met sent sold gave bought found lost won
    spent stood sat told wrote began broke chose drove ate fell grew knew led read rose said saw
    spoke taught thought wore get go pay run keep use need live prefer want like drink eat"""
)
"""Verbs whose form does not tell it: past ones, and the commonest after a plural."""
PLURAL_SORTS = _words("sales goods news savings operations parts accounts bus business gas glass")
"""Nouns that look like verbs and stand before other nouns."""
NUMBERING = _words("number no no. nr nr. num # code id")
UNITS = _words(
    """kg g km m cm mm mi lb lbs oz l ml % percent degrees euro euros eur dollars usd pounds yuan
    am pm a.m p.m o'clock hours hour minutes minute seconds days day weeks week months month years
    year people guests pages pieces items times points kilos kilometres miles metres"""
)
MEASURES = _words(
    """budget price cost rent salary weight height age size length width depth distance total sum
    balance temperature pressure speed limit phone mobile telephone hotline pin password fee fare
    income wage pulse score rate capacity version at of in on to by from for about around"""
)
"""Words after which a number is a value, not a name."""
ORDINALS = _words("first second third fourth fifth sixth seventh eighth ninth tenth")
COLOURS = _words(
    "red blue green yellow black white orange purple pink brown grey gray golden silver"
)
STATES = _words(
    """allowed forbidden prohibited banned permitted broken closed open missing free available out
    off down up fine ok okay safe unsafe cold hot warm dirty clean locked blocked full empty"""
)
"""States that hold in one place or for one person, and elsewhere need not."""
_KIN = (
    "mother mum mom",
    "father dad",
    "wife",
    "husband",
    "son",
    "daughter",
    "brother",
    "sister",
    "grandmother grandma granny",
    "grandfather grandpa",
    "uncle",
    "aunt",
    "nephew",
    "niece",
    "cousin",
    "neighbour neighbor neighbours neighbors",
    "colleague",
    "flatmate roommate",
)
KIN = {word: words.split()[0] for words in _KIN for word in words.split()}
