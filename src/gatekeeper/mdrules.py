"""markdown-it's rules, bent to what cmark-gfm makes of a text: GitHub renders with that.

It departs from CommonMark, and markdown-it from both, where a text can hide: footnotes are blocks
of their own, and a tag on a lazy line begins a block of HTML. What can't be bent without a parser of
our own leaves a doubt. Whoever imports this has a use for markdown-it, and pays for its import.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import rules_block, rules_inline
from markdown_it.common.html_blocks import block_names
from markdown_it.common.html_re import HTML_OPEN_CLOSE_TAG_STR, HTML_TAG_RE, declaration

from gatekeeper.mdbounds import MAX_CELLS, doubt, spend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_CODE = 4  # blanks that make code of what stands behind them
_INDENTS = "where the text around lists begins"
_BEGINS = re.compile(r"[<+*0-9-]")  # what would begin another block, if it were in no paragraph
_UNDERLINE = re.compile(r"(?:-+|=+)[ \t]*+")
_MARKED = re.compile(r"[^\w\s]|[0-9]")
_NOTE = re.compile(r"\[\^([^\] \t\r\n\0]+)\]:[ \t]*+")
# Any HTML that may stand in a text: blanks are ASCII's, and declarations begin with capitals.
_WHOLE_TAG = re.compile(HTML_TAG_RE.pattern.replace(declaration, r"<![A-Z]+\s+[^>]*>"), re.ASCII)


def bend(parser: MarkdownIt) -> None:
    """Put the rules of this module in the place of markdown-it's."""
    interrupts = ["paragraph", "reference", "blockquote"]
    parser.inline.ruler.at("html_inline", _html_inline)
    ruler = parser.block.ruler
    ruler.before("table", "far_out", _far_out, {"alt": interrupts})
    ruler.before("table", "footnote", _footnote, {"alt": interrupts})
    ruler.at("reference", _reference)
    ruler.at("table", _table, {"alt": interrupts[:2]})
    ruler.at("html_block", _html_block, {"alt": interrupts})
    ruler.at("list", _list, {"alt": interrupts})
    ruler.at("blockquote", _blockquote, {"alt": [*interrupts, "list"]})


def _html_inline(state: StateInline, silent: bool) -> bool:
    """The rule for HTML in the text, but for what only markdown-it takes for a tag."""
    start = state.pos
    found = rules_inline.html_inline(state, True)
    end, state.pos = state.pos, start
    if not found or _WHOLE_TAG.fullmatch(state.src, start, end) is None:
        return False
    return rules_inline.html_inline(state, silent)


class _HtmlKind(NamedTuple):
    """A kind of HTML block: how it opens, what its last line holds, and whether it may cut a paragraph in two."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    interrupts: bool = True


@cache
def _html_kinds() -> tuple[_HtmlKind, ...]:
    """The seven kinds, as cmark-gfm has them."""
    names = "|".join({*block_names, "source"} - {"search"})
    raw = "(?:script|pre|style|textarea)"
    kinds = (
        (rf"<{raw}(?=[\s>]|$)", f"</{raw}>"),
        ("<!--", "-->"),
        (r"<\?", r"\?>"),
        ("(?-i:<![A-Z])", ">"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (rf"</?(?:{names})(?=\s|/?>|$)", "^$"),
        (HTML_OPEN_CLOSE_TAG_STR + r"\s*$", "^$", False),
    )
    ignore = re.ASCII | re.IGNORECASE
    return tuple(_HtmlKind(re.compile(o, ignore), re.compile(c, ignore), *rest) for o, c, *rest in kinds)


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for blocks of HTML. To cmark-gfm a lazy line is none of the paragraph's that it goes on with."""
    text = _text(state, start)
    if not text.startswith("<") or state.is_code_block(start):
        return False
    kind = next((kind for kind in _html_kinds() if kind.opening.match(text)), None)
    if kind is None or silent:
        return kind is not None and (kind.interrupts or _lazy(state, start))
    line = start + 1
    at_blank = kind.closing.pattern == "^$"
    while not kind.closing.search(text) and line < end:
        text = _text(state, line)
        outside = state.sCount[line] < state.blkIndent and (text or at_blank)
        if outside or (at_blank and not text):
            break
        line += 1
    state.line = line
    token = state.push("html_block", "", 0)
    token.map = [start, line]
    token.content = state.getLines(start, line, state.blkIndent, True)
    return True


def _blockquote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for quotes. It takes a `>` behind four blanks for one more line; to CommonMark that is text or code."""
    with _within(state, []):
        found = rules_block.blockquote(state, start, end, silent)
    if not found:
        return False
    lines = () if silent else range(start + 1, state.line)
    if any(state.is_code_block(line) and _text(state, line).startswith(">") for line in lines):
        doubt(state.env, "a quote goes on with a line that is indented by four blanks or more")
    return True


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for link definitions. To CommonMark they begin a paragraph, and what stands below goes on with it."""
    if not rules_block.reference(state, start, end, silent):
        return False
    line, last = state.line, len(state.bMarks) - 2
    if silent or line > last or state.isEmpty(line):
        return True
    if _UNDERLINE.fullmatch(
        _text(state, line)
    ):  # to cmark-gfm text, as there is nothing to make a heading of
        odd = line < last and not state.isEmpty(line + 1)
    else:
        begins = state.is_code_block(line) or _BEGINS.match(_text(state, line)) is not None
        odd = not _cut(state, line) and (begins or state.sCount[line] < state.blkIndent)
    if odd:
        doubt(state.env, "what stands right below a link's definition is more than a paragraph")
    return True


def _cut(state: StateBlock, line: int) -> bool:
    """Whether a line cuts the paragraph short that stands above it."""
    outer, state.parentType = state.parentType, "paragraph"
    rules = state.md.block.ruler.getRules("paragraph") if state.sCount[line] >= 0 else ()
    cuts = any(rule(state, line, state.lineMax, True) for rule in rules)
    state.parentType = outer
    return cuts


def _list(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for lists, which keeps account of where the text around them begins."""
    if silent:
        return rules_block.list_block(state, start, end, silent)
    with _within(state, [*state.env.get(_INDENTS, ()), state.blkIndent]):
        return rules_block.list_block(state, start, end, silent)


@contextmanager
def _within(state: StateBlock, indents: list[int]) -> Iterator[None]:
    outer = state.env.get(_INDENTS, [])
    state.env[_INDENTS] = indents
    yield
    state.env[_INDENTS] = outer


def _far_out(state: StateBlock, line: int, _end: int, silent: bool) -> bool:
    """No rule, but a guard: a lazy line indented by four goes on with its paragraph, whatever markdown-it sees in it."""
    here = state.sCount[line]
    if not silent or here >= state.blkIndent or not _MARKED.match(_text(state, line)):
        return False
    if here < 0:  # an outer quote has taken the line for lazy, and an inner one asks again
        inwards = state.tShift[line]
    else:
        inwards = here - max((at for at in state.env.get(_INDENTS, ()) if at <= here), default=0)
    if inwards >= _CODE:
        doubt(state.env, "a line is indented by four blanks or more, but by less than what stands above it")
    return False


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for tables, whose second line makes a heading of the first where it is dashes alone.

    A bar behind two backslashes parts cells to cmark-gfm, and none to markdown-it.
    """
    if start + 1 < end and not _text(state, start + 1).strip("- \t"):
        return False
    if (
        rules_block.table(state, start, end, True) and not silent
    ):  # before rows are filled up to the table's width
        rows = next((line for line in range(start, end) if state.isEmpty(line)), end) - start
        spend(state.env, "cells of tables", rows * (_text(state, start).count("|") + 1), MAX_CELLS)
    found = rules_block.table(state, start, end, silent)
    if found and "\\\\|" in _text(state, start):
        doubt(state.env, "in a table's head a vertical bar stands behind two backslashes")
    return found


def _text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _lazy(state: StateBlock, line: int) -> bool:
    """Whether a line that is asked about is none of a paragraph's: it stands outside its list item or quote, or in a table."""
    return state.parentType in ("blockquote", "table") or state.sCount[line] < state.blkIndent


def _footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for footnotes: `[^label]:`, and what is indented by four below it, blank lines or not."""
    at = state.bMarks[start] + state.tShift[start]
    found = None if state.is_code_block(start) else _NOTE.match(state.src, at, state.eMarks[start])
    if found is None or silent:
        return found is not None
    kept = state.bMarks[start], state.tShift[start], state.sCount[start], state.bsCount[start]
    outer = state.blkIndent, state.listIndent, state.parentType
    state.listIndent, state.blkIndent, state.parentType = (
        state.blkIndent,
        state.blkIndent + _CODE,
        "footnote",
    )
    state.bsCount[start] += found.end() - state.bMarks[start]
    state.bMarks[start], state.tShift[start], state.sCount[start] = found.end(), 0, state.blkIndent
    state.push("footnote_open", "", 1).meta = {"label": found[1]}
    with _within(state, [*state.env.get(_INDENTS, ()), outer[0]]):
        state.md.block.tokenize(state, start, _note_end(state, start, end))
    state.push("footnote_close", "", -1)
    state.blkIndent, state.listIndent, state.parentType = outer
    state.bMarks[start], state.tShift[start], state.sCount[start], state.bsCount[start] = kept
    return True


def _note_end(state: StateBlock, start: int, end: int) -> int:
    """Where a footnote ends at the latest: cmark-gfm goes on behind a line that is empty, not behind one of blanks."""
    empty = False
    for line in range(start + 1, end):
        if state.sCount[line] < state.blkIndent:
            stop = state.eMarks[line]
            blank = state.isEmpty(line)
            if blank and stop > 0 and state.src[stop - 1] != "\n":
                return line
            if not blank and (empty or _NOTE.match(state.src, state.bMarks[line] + state.tShift[line], stop)):
                return line
            empty = blank
    return end
