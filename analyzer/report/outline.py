"""What a page says, before it is text or Markdown: headings, paragraphs, items with marks and places, and code.

In every text a piece between backticks is code; :func:`code` puts them round a piece from a checkout.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from analyzer.findings import Position
from analyzer.report.layout import clean

Mark = Literal["", "+", "-", "~"]
"""New, gone, or different."""


@dataclass(frozen=True)
class Heading:
    """A heading; ``level`` from 1 for the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Item:
    """An item of a list.

    Args:
        text: what it says.
        mark: how it differs, on pages that compare.
        places: paths with lines, or pairs of them.
        children: items under it.
    """

    text: str
    mark: Mark = ""
    places: tuple[str, ...] = ()
    children: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Code:
    """A block of source."""

    text: str
    language: str = "python"


@dataclass(frozen=True)
class Table:
    """Rows under heads; on a terminal the last column is wrapped.

    Args:
        head: one for each column.
        rows: as many cells each.
        links: for the first cells, where the page can have links; one for each row, or none at all.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[str, ...] = ()


Block = Heading | Paragraph | Item | Code | Table


def code(text: str) -> str:
    """A piece of text that a checkout or a command line has, as code."""
    return f"`{clean(text).replace('`', chr(39))}`"


def names(items: Iterable[str]) -> str:
    """Names as code, with commas."""
    return ", ".join(map(code, items))


def plain(text: str) -> str:
    """A text without the marks of code."""
    return text.replace("`", "")


def places(old: Position | None, new: Position | None) -> tuple[str, ...]:
    """Where something stands in either tree: as one string where the file is the same.

    Args:
        old, new: None where it is not there.
    """
    if old is None or new is None:
        return tuple(str(at) for at in (old, new) if at is not None)
    if old.path == new.path:
        return (str(new),) if old.line == new.line else (f"{old} -> {new.line}",)
    return f"{old} ->", str(new)


# -- Markdown --------------------------------------------------------------------------------------

_SPECIAL = re.compile(r"([\\*<\[\]|~]|(?<!\w)_|_(?!\w))")
_CALLS = re.compile(r"([@#])(?=\w)")
"""What GitHub makes a mention of somebody or a reference to an issue."""


def to_markdown(blocks: Iterable[Block]) -> str:
    """The page as Markdown, as GitHub reads it.

    Args:
        blocks: in order.
    """
    written: list[str] = []
    before: Block | None = None
    for block in blocks:
        if written and not (isinstance(before, Item) and isinstance(block, Item)):
            written.append("")
        written += _markdown(block)
        before = block
    return "".join(f"{line}\n" for line in written)


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {escape(block.text)}"
    elif isinstance(block, Paragraph):
        yield escape(block.text)
    elif isinstance(block, Item):
        yield from _markdown_item(block, "")
    elif isinstance(block, Table):
        yield from _markdown_table(block)
    else:
        text = "\n".join(map(clean, textwrap.dedent(block.text).strip("\n").split("\n")))
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        yield from (f"{fence}{block.language}", *text.split("\n"), fence)


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, table.head))} |"
    yield f"|{' --- |' * len(table.head)}"
    for number, row in enumerate(table.rows):
        cells = [escape(cell) for cell in row]
        if table.links:
            cells[0] = f"[{cells[0]}]({table.links[number]})"
        yield f"| {' | '.join(cells)} |"


def _markdown_item(item: Item, indent: str) -> Iterator[str]:
    words = {"": "", "+": "**new** ", "-": "**gone** ", "~": ""}[item.mark]
    where = " ".join(code(place) for place in item.places)
    yield f"{indent}- {words}{escape(item.text)}{f' ({where})' if where else ''}"
    for child in item.children:
        yield from _markdown_item(child, f"{indent}  ")


def escape(text: str) -> str:
    """A text with everything that Markdown would act upon escaped, but for the marks of code."""
    pieces = clean(text).split("`")
    if len(pieces) % 2 == 0:  # a backtick without a partner: nothing of it is code
        return _escape("'".join(pieces))
    for number in range(0, len(pieces), 2):
        pieces[number] = _escape(pieces[number])
    return "`".join(pieces)


def _escape(text: str) -> str:
    return _CALLS.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", text))
