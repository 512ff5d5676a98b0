"""Edits that teach: statements laid out, heads counted, results annotated; what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

from analyzer.findings import AddStatement, AnnotateResult, CollectStates, Edit
from analyzer.fix.edits import apply_edits
from analyzer.fix.layout import lay_out
from analyzer.fix.source import Refused, Source
from analyzer.fix.verify import verify

PATH = "vllm/model_executor/models/own.py"

DECODER = dedent(
    '''
    class Decoder(Module):
        """Runs layers."""

        # how many
        size = 4

        def __init__(self):
            self.norm = Norm()

        def forward(self, ids, state=None) -> Tensor | Handed:
            hidden = self.embed(ids)
            # each: in turn
            for layer in self.layers:
                # a: comment
                hidden = layer(hidden)  # trailing: too
                # and one below
            if not stage().is_last_rank:
                return Handed({"hidden": hidden})
            # the norm
            return self.norm(
                hidden,  # all of it
            )
    '''
).lstrip()

COLLECT = CollectStates(
    path=PATH,
    cls="Decoder",
    method="forward",
    layers="layers",
    index="idx",
    start="self.start",
    above=("states = self.add([], self.start, hidden, None)",),
    first=(),
    last=("self.add(states, idx + 1, hidden, None)",),
    handed_on="**self.pack(states)",
    value="hidden",
    below=("if len(states) > 0:\n    return hidden, states",),
)


def carried_out(text: str, *edits: Edit) -> str:
    """The result, verified, and the same when it is done again."""
    after, done = apply_edits(text, edits, 88)
    before = Source(text, "utf-8", False)
    verify(PATH, before, before.with_text(after), done)
    assert apply_edits(after, done, 88)[0] == after
    return after


def test_a_loop_collects_and_every_comment_stays_where_it_was() -> None:
    after = carried_out(DECODER, COLLECT)
    assert "\n".join(after.splitlines()[10:]) + "\n" == (
        "        hidden = self.embed(ids)\n"
        "        states = self.add([], self.start, hidden, None)\n"
        "        # each: in turn\n"
        "        for idx, layer in enumerate(self.layers, start=self.start):\n"
        "            # a: comment\n"
        "            hidden = layer(hidden)  # trailing: too\n"
        "            # and one below\n"
        "            self.add(states, idx + 1, hidden, None)\n"
        "        if not stage().is_last_rank:\n"
        '            return Handed({"hidden": hidden, **self.pack(states)})\n'
        "        # the norm\n"
        "        hidden = self.norm(\n"
        "            hidden,  # all of it\n"
        "        )\n"
        "        if len(states) > 0:\n"
        "            return hidden, states\n"
        "        return hidden\n"
    )


def test_lines_end_as_they_did() -> None:
    text = DECODER.replace("\n", "\r\n")
    after = carried_out(text, COLLECT)
    assert after.count("\n") == after.count("\r\n")
    assert after.replace("\r\n", "\n") == carried_out(DECODER, COLLECT)


def test_states_before_the_layer_stand_at_the_beginning_of_the_body() -> None:
    first = "if idx in self.asked:\n    states.append(hidden)"
    edit = replace(COLLECT, above=("states = []",), first=(first,), last=(), handed_on="")
    after = carried_out(DECODER, edit)
    body = after.partition("start=self.start):\n")[2]
    assert body.startswith(
        "            if idx in self.asked:\n                states.append(hidden)\n            # a: comment"
    )


def test_an_index_that_nothing_uses_gets_a_name() -> None:
    text = DECODER.replace("for layer in self.layers:", "for _, layer in enumerate(self.layers):")
    assert "for idx, layer in enumerate(self.layers, start=self.start):" in carried_out(text, COLLECT)


def test_a_loop_over_indices_keeps_its_head_and_takes_the_layer_first() -> None:
    text = DECODER.replace("for layer in self.layers:", "for i in range(8):\n            layer = self.layers[i]")
    first = "if i in self.asked:\n    states.append(hidden)"
    edit = replace(COLLECT, index="", above=("states = []",), first=(first,), last=(), handed_on="")
    after = carried_out(text, edit)
    assert "for i in range(8):\n            layer = self.layers[i]\n            if i in self.asked:" in after


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("for layer in self.layers:", "for layer in self.others:", "no loops over self.layers"),
        ("class Decoder", "class Other", "no class Decoder"),
        ("def forward", "def run", "no definitions of forward"),
        ("            return Handed", "            raise Handed", "no returns of an earlier stage"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        apply_edits(DECODER.replace(old, new), [COLLECT], 88)


def test_a_change_that_is_not_declared_is_found() -> None:
    after, done = apply_edits(DECODER, [COLLECT], 88)
    before = Source(DECODER, "utf-8", False)
    for old, new in [
        ("hidden = layer(hidden)", "hidden = layer(hidden, 1)"),
        ("**self.pack(states)}", "**self.pack(states), 'more': 1}"),
        ("        # each: in turn\n", ""),
        ("size = 4", "size = 5"),
    ]:
        assert old in after
        with pytest.raises(Refused):
            verify(PATH, before, before.with_text(after.replace(old, new)), done)


def test_a_statement_goes_to_the_top_of_a_class_or_the_end_of_a_method() -> None:
    edits = (
        AddStatement(PATH, "Decoder", "", "flag = True"),
        AddStatement(PATH, "Decoder", "__init__", "self.asked = ()"),
    )
    after = carried_out(DECODER, *edits)
    assert '"""Runs layers."""\n\n    flag = True\n\n    # how many\n    size = 4\n' in after
    assert "        self.norm = Norm()\n        self.asked = ()\n\n    def forward" in after


def test_a_constructor_that_ends_with_a_return_gets_it_before() -> None:
    text = DECODER.replace("self.norm = Norm()\n", "self.norm = Norm()\n        return\n")
    edit = AddStatement(PATH, "Decoder", "__init__", "self.asked = ()")
    assert "        self.asked = ()\n        return\n" in carried_out(text, edit)
    with pytest.raises(Refused, match="ends with a value"):
        apply_edits(text.replace("        return\n", "        return None\n"), [edit], 88)


@pytest.mark.parametrize(
    ("returns", "lines"),
    [
        ("Tensor | Handed | tuple[Tensor, list[Tensor]]", 1),
        ("Union[Tensor, Handed, tuple[Tensor, list[Tensor]], AndSomethingRatherLong[Tensor]]", 3),
        ("Tensor | Handed | tuple[Tensor, list[Tensor]] | AndSomethingRatherLong[Tensor]", 3),
    ],
)
def test_a_result_is_annotated_within_the_line_length(returns: str, lines: int) -> None:
    after = carried_out(DECODER, AnnotateResult(PATH, "Decoder", "forward", returns))
    assert len(after.splitlines()) == len(DECODER.splitlines()) + lines - 1
    assert max(map(len, after.splitlines())) <= 88
    with pytest.raises(Refused, match="no annotation"):
        apply_edits(
            DECODER.replace(" -> Tensor | Handed", ""), [AnnotateResult(PATH, "Decoder", "forward", returns)], 88
        )


@pytest.mark.parametrize(
    ("statement", "limit", "expected"),
    [
        ("x = f(a, b)", 20, ["    x = f(a, b)"]),
        ("x = f(aaaa, bbbb)", 20, ["    x = f(", "        aaaa, bbbb", "    )"]),
        ("x = f(aaaaaaaa, bbbbbbbb)", 20, ["    x = f(", "        aaaaaaaa,", "        bbbbbbbb,", "    )"]),
        ("if aa:\n    x = f(aa, bb)", 18, ["    if aa:", "        x = f(", "            aa, bb", "        )"]),
        ("for i, x in e(aaaa):", 20, ["    for i, x in e(", "        aaaa", "    ):"]),
        ("f(a + b if c else d)", 20, ["    f(", "        a + b", "        if c", "        else d", "    )"]),
    ],
)
def test_statements_are_broken_as_the_formatter_breaks_them(statement: str, limit: int, expected: list[str]) -> None:
    assert lay_out(statement, "    ", "    ", limit) == expected
