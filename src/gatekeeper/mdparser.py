"""Markdown text → markdown-it's tokens, read as GitHub reads them, within bounds of time.

The rules are `mdrules`', the bounds `mdbounds`'; what hides or shows text besides is for `mdblocks`
and `rawhtml` to know. markdown-it is imported late: most checks need no parser.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gatekeeper.mdbounds import (
    MAX_SCANNED,
    UnreadableError,
    doubt,
    refuse_too_much,
    spend,
    spend_marks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# The characters at which the rules in use look closer; the parser's own list knows of others.
_STOPS = re.compile(r"[\n!&*<\[\\\]_`~]")
_LINK_STOPS = re.compile(r"[!<\[\\\]`]")
_ODD_BLANK = re.compile(r"[\x0b\x0c\x1c-\x1f]")
_BLANK = re.compile(r"[\x00-\x20\x7f]+")
_TARGET = re.compile(r"\]\(")
# Where markdown-it sees a paragraph, cmark-gfm may see a table: a head of one column needs no bar there.
_RULED = re.compile(r"[ \t]*+(?=[^\n]*[|:])(?:\|?[ \t]*+:?-++:?[ \t]*+)++\|?[ \t]*+")
# An item that begins with a blank line ends there, but for cmark-gfm not if that line is indented.
_OPEN_ITEM = re.compile(
    r"^[ \t>]*+(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t]*+)++\n(?:[ \t>]*+(?<=[ \t])\n)++[ \t>]*+(?<=[ \t]{2})[^ \t\n]",
    re.MULTILINE,
)
PLACED = ("link_open", "image", "code_inline")
"""The tokens whose `meta["span"]` says where in their paragraph they begin and end."""


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
    tokens = _parser().parse(text + "\n", env)  # without it the parser may look behind the text's end
    if _OPEN_ITEM.search(text):
        doubt(env, "a list item begins with a line of blanks")
    if any(token.type == "inline" and _ruled(token.content) for token in tokens):
        doubt(env, "a line that parts a table's head from its rows stands in a paragraph")
    if _ODD_BLANK.search(text):
        fenced = {
            line for token in tokens if token.type == "fence" and token.map for line in range(*token.map)
        }
        if any(_ODD_BLANK.search(line) for at, line in enumerate(text.split("\n")) if at not in fenced):
            doubt(env, "a control character that some take for a blank stands outside of code")
    return tokens, env


def _ruled(content: str) -> bool:
    """Whether a paragraph holds a line that parts a table's head from its rows, if that could be one for GitHub."""
    lines = content.split("\n")
    return any(
        _RULED.fullmatch(line)
        and ("\\\\|" in above or above[:1] in (" ", "\t") or "|" not in line.strip("| \t"))
        for above, line in pairwise(lines)
    )


def inline_tokens(content: str, env: dict[str, Any], *, links_only: bool = False) -> list[Token]:
    """The tokens of one leaf's text. `env` is its document's, which keeps account of what its leaves cost.

    With `links_only` marks on which no link depends stay text.
    """
    spend_marks(content, env)
    runs = _BLANK.split(content) if "](" in content else ()
    scanned = sum(len(run) - found.end() for run in runs for found in _TARGET.finditer(run))
    spend(env, "characters behind the beginnings of links", scanned, MAX_SCANNED)
    from markdown_it.rules_inline import StateInline  # noqa: PLC0415 -- the parser has imported it

    parser = _parser(links_only=links_only)
    state = StateInline(content, parser, env, [])
    parser.inline.tokenize(state)
    for rule in () if links_only else parser.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens


# -- the parser --------------------------------------------------------------------------------------


@cache
def _parser(*, links_only: bool = False) -> MarkdownIt:
    """markdown-it with GitHub's rules; targets stay as written, and marks tell where they stand.

    With `links_only` it leaves emphasis and the like alone, which is half the work.
    """
    from markdown_it import MarkdownIt, rules_inline  # noqa: PLC0415 -- 35 ms that most checks need not spend

    from gatekeeper.mdrules import bend  # noqa: PLC0415

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
    bend(parser)
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
