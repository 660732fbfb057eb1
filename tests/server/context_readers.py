"""Readers of contexts, made of other people's parsers: what a model's tools would see."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from recalld.v1 import recall_service_pb2 as pb

Format = pb.ContextFormat
MARKDOWN, XML, JSON = (
    Format.CONTEXT_FORMAT_MARKDOWN,
    Format.CONTEXT_FORMAT_XML,
    Format.CONTEXT_FORMAT_JSON,
)
MARK = re.compile(r"\((\d+(?:d|mo|y)) ([a-z]+(?: conflict \d+)?)\) (.*)")


class Read(NamedTuple):
    """What stands in a context."""

    note: str
    sections: dict[str, list[tuple[str, str, str]]]
    """Age, source and text of each item, by heading; "" = without one, in compact contexts."""
    rule: str

    def items(self) -> list[tuple[str, str, str]]:
        """All items, in order."""
        return [item for items in self.sections.values() for item in items]


def read(text: str, form: int) -> Read:
    """Parse a context; fails where anything but notes, sections and items stands in it."""
    if form == XML:
        return _read_xml(text)
    return _read_json(text) if form == JSON else _read_markdown(text)


def _read_xml(text: str) -> Read:
    root = ElementTree.fromstring(text)
    assert root.tag == "memories"
    parts = [*root]
    rule = parts.pop() if parts and parts[-1].tag == "rule" else None
    bare = [part for part in parts if part.tag == "m"]
    filed = {"": [(m.attrib["age"], m.attrib["by"], m.text or "") for m in bare]} if bare else {}
    for section in parts[len(bare) :]:
        assert section.tag == "section"
        assert all((item.tag, [*item]) == ("m", []) for item in section)
        filed[section.attrib["title"]] = [
            (item.attrib["age"], item.attrib["by"], item.text or "") for item in section
        ]
    return Read(root.attrib["note"], filed, (rule.text or "") if rule is not None else "")


def _read_json(text: str) -> Read:
    whole = json.loads(text)
    assert [*whole] in (["note", "columns", "memories", "rule"], ["note", "memories"])
    assert whole.get("columns", ["age", "source", "text"]) == ["age", "source", "text"]
    filed = {title: [tuple(item) for item in items] for title, items in whole["memories"].items()}
    return Read(whole["note"], filed, whole.get("rule", ""))


def _read_markdown(text: str) -> Read:
    """By the blocks of CommonMark: notes, fences, headings and flat lists of one-line items."""
    blocks = MarkdownIt("commonmark").parse(text)
    assert {block.type for block in blocks} <= {
        *("paragraph_open", "inline", "paragraph_close", "html_block"),
        *("heading_open", "heading_close", "bullet_list_open", "bullet_list_close"),
        *("list_item_open", "list_item_close"),
    }
    note = blocks[1].content
    rule = blocks[-2].content if blocks[-1].type == "paragraph_close" else ""
    fences = [block.content.strip() for block in blocks if block.type == "html_block"]
    assert fences == ["<memories>", "</memories>"]
    filed: dict[str, list[tuple[str, str, str]]] = {}
    for before, block in pairwise(blocks[3 : -3 if rule else None]):
        if block.type == "inline" and before.type == "heading_open":
            assert before.tag == "h2"
            filed[block.content] = []
        elif block.type == "inline":
            found = MARK.fullmatch(block.content)
            assert found is not None
            heading = next(reversed(filed), "")
            filed.setdefault(heading, []).append((found[1], found[2], found[3]))
    return Read(note, filed, rule)
