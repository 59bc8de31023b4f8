"""Markdown text → markdown-it's tokens, read as GitHub reads them, within bounds of time.

GitHub renders with cmark-gfm, which departs from CommonMark where a text can hide behind it:
footnotes are blocks of their own, and a tag on a lazy line begins a block of HTML. Both are rules
of the parser here. All else that hides or shows text is `mdblocks`' and `rawhtml`'s.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# markdown-it's time grows with these, not with the text's length alone; together they keep one
# body near a second, and no honest task comes near them.
MAX_BODY = 1024 * 1024
MAX_LINES = 20_000
MAX_CONTAINERS = 30_000
MAX_PIPES = 60_000
MAX_PIPES_IN_LINE = 1_000
MAX_QUOTES = 10
MAX_CELLS = 60_000
MAX_MARKS = 20_000
MAX_SCANNED = 8_000_000
"""Each `](` is followed up to the next blank, whether or not it proves to be a link; nobody writes that many."""

CODE_INDENT = 4
"""Blanks that make code of what stands behind them."""

_CONTAINERS = re.compile(r"^(?:[ \t]*+(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))+", re.MULTILINE)
# The characters at which the rules in use look closer; the parser's own list knows of others.
_STOPS = re.compile(r"[\n!&*<\[\\\]_`~]")
_LINK_STOPS = re.compile(r"[!<\[\\\]`]")
_MARKS = re.compile(r"[!&*<\[\\\]_`~]")
_BEGINS = re.compile(r"[<+*0-9-]")  # what would begin another block, if it were in no paragraph
_MARKED = re.compile(r"[^\w\s]|[0-9]")
_DOUBT = "what GitHub may read otherwise"
_INDENTS = "where the text around lists begins"
_ODD_BLANK = re.compile(r"[\x0b\x0c\x1c-\x1f]")
_BLANK = re.compile(r"[\x00-\x20\x7f]+")
_TARGET = re.compile(r"\]\(")
_NOTE = re.compile(r"\[\^([^\] \t\r\n\0]+)\]:[ \t]*+")
# Where markdown-it sees a paragraph, cmark-gfm sees a table: a head of one column needs no bar there, and
# a bar behind two backslashes parts cells.
_RULED = re.compile(
    r"\n[ \t]*+(?=-*[|:])\|?[ \t]*+:?-++:?[ \t]*+\|?[ \t]*+(?:\n|$)"
    r"|\\\\\|[^\n]*\n[ \t|:-]+(?:\n|$)"
)
# An item that begins with a blank line ends there, but for cmark-gfm not if that line is indented.
_OPEN_ITEM = re.compile(
    r"^[ \t>]*+(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t]*+)++\n(?:[ \t>]*+(?<=[ \t])\n)++[ \t>]*+(?<=[ \t]{2})[^ \t\n]",
    re.MULTILINE,
)
PLACED = ("link_open", "image", "code_inline")
"""The tokens whose `meta["span"]` says where in their paragraph they begin and end."""


class UnreadableError(ValueError):
    """A body that can't be read as Markdown within bounds; the text says why, in one line."""


@contextmanager
def parser_faults() -> Iterator[None]:
    """A fault of the parser's own is an UnreadableError, too: it must never read as "nothing here"."""
    try:
        yield
    except UnreadableError:
        raise
    except Exception as err:  # noqa: BLE001 -- see above
        raise UnreadableError(f"the Markdown parser gave up ({type(err).__name__})") from None


def block_tokens(text: str) -> tuple[list[Token], dict[str, Any]]:
    """The block tokens of a text with LF line ends, and what the parser learned of its definitions.

    A footnote is between `footnote_open`, whose `meta` has its `label`, and `footnote_close`. Raises
    UnreadableError for what would take long.
    """
    refuse_too_much(text)
    env: dict[str, Any] = {}
    tokens = _parser().parse(text, env)
    if _OPEN_ITEM.search(text):
        _doubt(env, "a list item begins with a line of blanks")
    if any(token.type == "inline" and _RULED.search(token.content) for token in tokens):
        _doubt(env, "a line that parts a table's head from its rows stands in a paragraph")
    if _ODD_BLANK.search(text):
        fenced = {
            line for token in tokens if token.type == "fence" and token.map for line in range(*token.map)
        }
        if any(_ODD_BLANK.search(line) for at, line in enumerate(text.split("\n")) if at not in fenced):
            _doubt(env, "a control character that some take for a blank stands outside of code")
    return tokens, env


def refuse_doubts(env: Mapping[str, Any]) -> None:
    """Raise UnreadableError where it is not known for sure what GitHub shows of a text: its parser is not ours.

    What is written so is hardly ever honest; `env` is what `block_tokens` gave.
    """
    if _DOUBT in env:
        raise UnreadableError(env[_DOUBT])


def _doubt(env: MutableMapping[str, Any], what: str) -> None:
    env.setdefault(_DOUBT, what)


def inline_tokens(content: str, env: dict[str, Any], *, links_only: bool = False) -> list[Token]:
    """The tokens of one leaf's text. `env` is its document's, which keeps account of what its leaves cost.

    With `links_only` marks on which no link depends stay text.
    """
    spend_marks(content, env)
    runs = _BLANK.split(content) if "](" in content else ()
    scanned = sum(len(run) - found.end() for run in runs for found in _TARGET.finditer(run))
    _spend(env, "characters behind the beginnings of links", scanned, MAX_SCANNED)
    from markdown_it.rules_inline import StateInline  # noqa: PLC0415 -- the parser has imported it

    parser = _parser(links_only=links_only)
    state = StateInline(content, parser, env, [])
    parser.inline.tokenize(state)
    for rule in () if links_only else parser.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens


def refuse_too_much(text: str) -> None:
    """Raise UnreadableError for a text that would take long to parse into blocks."""
    limit(len(text), MAX_BODY, "characters")
    limit(text.count("\n"), MAX_LINES, "lines")
    limit(text.count("|"), MAX_PIPES, "vertical bars")
    limit(max(line.count("|") for line in text.split("\n")), MAX_PIPES_IN_LINE, "vertical bars in a line")
    nested = [found.group() for found in _CONTAINERS.finditer(text)]
    limit(max((g.count(">") for g in nested), default=0), MAX_QUOTES, "quotes in one another")
    limit(sum(g.count(">") + len(g.split()) for g in nested), MAX_CONTAINERS, "list markers and quote marks")


def weight(text: str) -> int:
    """How many characters of a text may mean something in Markdown: its reading takes time in proportion, at most."""
    return sum(map(text.count, "\n|>-+*_`~[]!<&\\"))


def limit(count: int, most: int, what: str) -> None:
    """Raise UnreadableError where there is more of something than is read."""
    if count > most:
        raise UnreadableError(f"it holds {count} {what}, and at most {most} are read")


def spend_marks(content: str, env: dict[str, Any]) -> None:
    """Count the marks of a leaf, text or HTML, to those of its document. Raises UnreadableError."""
    _spend(env, "marks in its text", len(_MARKS.findall(content)), MAX_MARKS)


def _spend(env: MutableMapping[str, Any], what: str, cost: int, most: int) -> None:
    env[what] = env.get(what, 0) + cost
    limit(env[what], most, what)


# -- the parser --------------------------------------------------------------------------------------


@cache
def _parser(*, links_only: bool = False) -> MarkdownIt:
    """markdown-it with GitHub's rules; targets stay as written, and marks tell where they stand.

    With `links_only` it leaves emphasis and the like alone, which is half the work.
    """
    from markdown_it import MarkdownIt, rules_inline  # noqa: PLC0415 -- 35 ms that most checks need not spend

    # Inline text is parsed leaf by leaf, once it is known how much of it there is.
    parser = (
        MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"]).disable("inline")
    )
    parser.normalizeLink = _as_written  # type: ignore[method-assign]
    parser.validateLink = _any_scheme  # type: ignore[method-assign, assignment]
    parser.inline.parse = _no_alt  # type: ignore[method-assign, assignment]
    parser.inline.terminator_re = _LINK_STOPS if links_only else _STOPS
    if links_only:
        parser.disable(["newline", "entity", "emphasis", "strikethrough"])
    parser.inline.ruler.at("link", _placed(rules_inline.link))
    parser.inline.ruler.at("image", _placed(rules_inline.image))
    parser.inline.ruler.at("backticks", _placed(rules_inline.backtick))
    interrupts = ["paragraph", "reference", "blockquote"]
    parser.inline.ruler.at("html_inline", _html_inline)
    parser.block.ruler.before("table", "far_out", _far_out, {"alt": interrupts})
    parser.block.ruler.before("table", "footnote", _footnote, {"alt": interrupts})
    parser.block.ruler.at("reference", _reference)
    parser.block.ruler.at("table", _table, {"alt": interrupts[:2]})
    parser.block.ruler.at("html_block", _html_block, {"alt": interrupts})
    parser.block.ruler.at("list", _list, {"alt": interrupts})
    parser.block.ruler.at("blockquote", _blockquote, {"alt": [*interrupts, "list"]})
    return parser


def _as_written(url: str) -> str:
    return url


def _any_scheme(_url: str) -> bool:
    return True


def _no_alt(_text: str, _parser: MarkdownIt, _env: Any, tokens: list[Token]) -> list[Token]:
    """What the rule for images makes of the text in their place: nothing, however deep they are nested."""
    return tokens


def _placed(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """An inline rule whose mark says in `meta` where in its paragraph it begins and ends."""

    def placed(state: StateInline, silent: bool) -> bool:
        start, known = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            for token in state.tokens[known : known + 2]:  # the text that waited before it, and the mark
                if token.type in PLACED:
                    token.meta["span"] = (start, state.pos)
                    break
        return True

    return placed


@cache
def _whole_tag() -> re.Pattern[str]:
    """Any HTML that may stand in a text; as cmark-gfm has it, blanks are ASCII's, and declarations begin with capitals."""
    from markdown_it.common.html_re import HTML_TAG_RE, declaration  # noqa: PLC0415 -- the parser has imported it

    return re.compile(HTML_TAG_RE.pattern.replace(declaration, r"<![A-Z]+\s+[^>]*>"), re.ASCII)


def _html_inline(state: StateInline, silent: bool) -> bool:
    """The rule for HTML in the text, but for what only markdown-it takes for a tag."""
    from markdown_it.rules_inline import html_inline  # noqa: PLC0415 -- the parser has imported it

    start = state.pos
    found = html_inline(state, True)
    end, state.pos = state.pos, start
    if not found or _whole_tag().fullmatch(state.src, start, end) is None:
        return False
    return html_inline(state, silent)


class _HtmlKind(NamedTuple):
    """A kind of HTML block: how it opens, what its last line holds, and whether it may cut a paragraph in two."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    interrupts: bool = True


@cache
def _html_kinds() -> tuple[_HtmlKind, ...]:
    """The seven kinds, as cmark-gfm has them."""
    from markdown_it.common.html_blocks import block_names  # noqa: PLC0415 -- the parser has imported it
    from markdown_it.common.html_re import HTML_OPEN_CLOSE_TAG_STR  # noqa: PLC0415

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
    from markdown_it.rules_block import blockquote  # noqa: PLC0415 -- the parser has imported it

    with _within(state, []):
        found = blockquote(state, start, end, silent)
    if not found:
        return False
    lines = () if silent else range(start + 1, state.line)
    if any(state.is_code_block(line) and _text(state, line).startswith(">") for line in lines):
        _doubt(state.env, "a quote goes on with a line that is indented by four blanks or more")
    return True


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for link definitions. To CommonMark they begin a paragraph, and what stands below goes on with it."""
    from markdown_it.rules_block import reference  # noqa: PLC0415 -- the parser has imported it

    if not reference(state, start, end, silent):
        return False
    line = state.line
    if not silent and line < len(state.bMarks) - 1 and not state.isEmpty(line) and not _cut(state, line):
        outside = state.sCount[line] < state.blkIndent
        if outside or state.is_code_block(line) or _BEGINS.match(_text(state, line)):
            _doubt(state.env, "what stands right below a link's definition is more than a paragraph")
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
    from markdown_it.rules_block import list_block  # noqa: PLC0415 -- the parser has imported it

    if silent:
        return list_block(state, start, end, silent)
    with _within(state, [*state.env.get(_INDENTS, ()), state.blkIndent]):
        return list_block(state, start, end, silent)


@contextmanager
def _within(state: StateBlock, indents: list[int]) -> Iterator[None]:
    outer = state.env.get(_INDENTS, [])
    state.env[_INDENTS] = indents
    yield
    state.env[_INDENTS] = outer


def _far_out(state: StateBlock, line: int, _end: int, silent: bool) -> bool:
    """No rule, but a guard: a lazy line indented by four goes on with its paragraph, whatever markdown-it sees in it."""
    here = state.sCount[line]
    if silent and CODE_INDENT <= here < state.blkIndent and _MARKED.match(_text(state, line)):
        around = max((at for at in state.env.get(_INDENTS, ()) if at <= here), default=0)
        if here - around >= CODE_INDENT:
            _doubt(state.env, "a line is indented by four blanks or more, but by less than the list above it")
    return False


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for tables, whose second line makes a heading of the first where it is dashes alone.

    A bar behind two backslashes parts cells to cmark-gfm, and none to markdown-it.
    """
    from markdown_it.rules_block import table  # noqa: PLC0415 -- the parser has imported it

    if start + 1 < end and not _text(state, start + 1).strip("- \t"):
        return False
    if table(state, start, end, True) and not silent:  # before rows are filled up to the table's width
        rows = next((line for line in range(start, end) if state.isEmpty(line)), end) - start
        _spend(state.env, "cells of tables", rows * (_text(state, start).count("|") + 1), MAX_CELLS)
    found = table(state, start, end, silent)
    if found and "\\\\|" in _text(state, start):
        _doubt(state.env, "in a table's head a vertical bar stands behind two backslashes")
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
        state.blkIndent + CODE_INDENT,
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
