"""A page for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from analyzer.report.layout import NARROWEST, WIDEST, clean, wrap
from analyzer.report.outline import Block, Code, Heading, Item, Paragraph, Table, plain
from analyzer.report.terminal import printed

_STYLES = {"": "", "+": "green", "-": "red", "~": "yellow"}
_STEP = "  "


def to_text(blocks: Iterable[Block], console: Console) -> str:
    """The page as text.

    Args:
        blocks: in order.
        console: tells the width, the encoding and whether there are colours; nothing is printed on it.
    """
    width = max(NARROWEST, min(console.width, WIDEST))
    return printed(_lines(blocks, width), console)


def _lines(blocks: Iterable[Block], width: int) -> Iterator[Text]:
    before: Block | None = None
    indent = ""
    for block in blocks:
        if before is not None and not (isinstance(before, Item) and isinstance(block, Item)):
            if not isinstance(before, Heading) or isinstance(block, Heading):
                yield Text()
        if isinstance(block, Heading):
            indent = _STEP * max(0, block.level - 2)
            yield from (Text(indent + line, "bold") for line in wrap(plain(block.text), width - len(indent)))
            indent += _STEP if block.level > 1 else ""
        elif isinstance(block, Paragraph):
            yield from (Text(indent + line) for line in wrap(plain(block.text), width - len(indent)))
        elif isinstance(block, Code):
            yield from _code(block, indent)
        elif isinstance(block, Table):
            yield from _table(block, indent, width)
        else:
            yield from _item(block, indent, width)
        before = block


def _code(block: Code, indent: str) -> Iterator[Text]:
    for line in textwrap.dedent(block.text).strip("\n").split("\n"):
        yield Text(f"{indent}{_STEP}{clean(line)}".rstrip())


def _table(table: Table, indent: str, width: int) -> Iterator[Text]:
    """The rows, without the heads: columns two blanks apart, the last one wrapped."""
    rows = [[clean(plain(cell)) for cell in row] for row in table.rows]
    sizes = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    margin = indent + " " * sum(size + 2 for size in sizes)
    for row in rows:
        head = "".join(f"{cell:<{size}}  " for cell, size in zip(row, sizes, strict=False))
        for number, line in enumerate(wrap(row[-1], max(width - len(margin), NARROWEST // 2))):
            yield Text.assemble(margin if number else (f"{indent}{head}", "bold"), line)


def _item(item: Item, indent: str, width: int) -> Iterator[Text]:
    mark = f"{item.mark} " if item.mark else ""
    margin = indent + " " * len(mark)
    lines = [Text(line) for line in wrap(plain(item.text), width - len(margin) - len(_STEP))]
    taken = len(margin) + (len(_STEP) if len(lines) > 1 else 0) + len(lines[-1]) + 2
    for place in map(clean, item.places):
        if taken + len(place) <= width and len(item.places) == 1:
            lines[-1].append("  ").append(place, "cyan")
        else:
            lines.append(Text.assemble(_STEP, (place, "cyan")))
    for number, line in enumerate(lines):
        follows = number and not line.plain.startswith(_STEP)
        head = Text.assemble(indent, (mark, _STYLES[item.mark])) if not number else Text(margin)
        yield Text.assemble(head, _STEP if follows else "", line)
    for child in item.children:
        yield from _item(child, margin + _STEP, width)
