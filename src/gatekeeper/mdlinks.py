"""What a Markdown text points at in its repository, line by line.

Read by markdown-it on its tokens, within the bounds of `mdblocks`. Each mark remembers where in
its paragraph it began, so that the line is the true one wherever it stands. Links and images are
Markdown's own, whichever way they are written, and definitions that nothing refers to; HTML's
`<a href>` is none. Footnotes, which GitHub knows and markdown-it does not, are text.
Source of the rules: CONTRACT 5, verify-task-links.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from gatekeeper.asktext import lines
from gatekeeper.linktargets import is_relative, may_point, reads_as_path
from gatekeeper.mdblocks import MAX_MARKS, UnreadableError, _limit, _refuse_too_much

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

__all__ = ["Reference", "UnreadableError", "block_tokens", "inline_tokens", "links", "parser_faults"]

MAX_SCANNED = 8_000_000
"""Each `](` is followed up to the next blank, whether or not it proves to be a link; nobody writes that many."""

_KINDS = {"link_open": ("link", "href"), "image": ("image", "src"), "code_inline": ("code", "")}
# The characters at which the rules in use look closer; the parser's own list knows of others.
_STOPS = re.compile(r"[\n!&*<\[\\\]_`~]")
_LINK_STOPS = re.compile(r"[!<\[\\\]`]")
_MARKS = re.compile(r"[!&*<\[\\\]_`~]")
_BLANK = re.compile(r"[\x00-\x20\x7f]+")
_TARGET = re.compile(r"\]\(")
_MADE = re.compile(r"\((?:create|new)\)", re.IGNORECASE)
_BREAK = re.compile(r"\r\n?|\n")


class Reference(NamedTuple):
    """What a text points at: a `link` or an `image` with a relative target, or a `code` span that reads as a path.

    `target` is as its author means it: escapes and entities are read, percent signs are not. `line`
    is where the mark begins, counted from 1 in the file.
    """

    kind: str
    target: str
    line: int


def links(body: str, first_line: int = 1) -> tuple[Reference, ...]:
    """What a body points at in its repository, in order; `first_line` is the body's first line in its file.

    What is followed by `(create)` or `(new)` on its line is to be made, and left out; so is what
    stands in code blocks and comments. Raises UnreadableError.
    """
    with parser_faults():
        tokens, env = block_tokens(body)
        defined = bool(env.get("references"))
        leaves = [
            leaf
            for leaf in _leaves(tokens, body)
            if may_point(leaf.content) or (defined and "[" in leaf.content)
        ]
        number = _numbers(body, first_line)
        seen: set[str] = set()
        found = [*(ref for leaf in leaves for ref in _of_leaf(leaf, env, seen)), *_unused(env, seen)]
        found.sort(key=lambda ref: ref.line)
        return tuple(ref._replace(line=number(ref.line)) for ref in found)


# -- reading Markdown ------------------------------------------------------------------------------


@contextmanager
def parser_faults() -> Iterator[None]:
    """A fault of the parser's own is an UnreadableError, too: it must never read as "no links here"."""
    try:
        yield
    except UnreadableError:
        raise
    except Exception as err:  # noqa: BLE001 -- see above
        raise UnreadableError(f"the Markdown parser gave up ({type(err).__name__})") from None


def block_tokens(text: str) -> tuple[list[Token], dict[str, Any]]:
    """The block tokens of a text, and what the parser learned of its definitions."""
    text = lines(text)
    _refuse_too_much(text)
    env: dict[str, Any] = {}
    return _parser().parse(text, env), env


@cache
def _parser(*, links_only: bool = False) -> MarkdownIt:
    """markdown-it as `mdblocks` sets it up, but that targets stay as written and marks tell where they stand.

    With `links_only` marks on which no link depends stay text: it is half the work.
    """
    from markdown_it import MarkdownIt, rules_inline  # noqa: PLC0415 -- 35 ms that most checks need not spend

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
    parser.block.ruler.at("reference", _no_footnote)
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
                if token.type in _KINDS:
                    token.meta["span"] = (start, state.pos)
                    break
        return True

    return placed


def _no_footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for link definitions, which would take a footnote's text for a target."""
    from markdown_it.rules_block import reference  # noqa: PLC0415 -- the parser has imported it

    at = state.bMarks[start] + state.tShift[start]
    return not state.src.startswith("[^", at) and reference(state, start, end, silent)


def inline_tokens(content: str, env: dict[str, Any], *, links_only: bool = False) -> list[Token]:
    """The tokens of one leaf's text. `env` is its document's, which keeps account of what its leaves cost."""
    _spend(env, "marks in its text", len(_MARKS.findall(content)), MAX_MARKS)
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


def _spend(env: dict[str, Any], what: str, cost: int, most: int) -> None:
    env[what] = env.get(what, 0) + cost
    _limit(env[what], most, what)


# -- links -----------------------------------------------------------------------------------------


class _Leaf(NamedTuple):
    """A paragraph, a heading or a table's cell, and its first line; `made`: the row ends in `(new)`."""

    content: str
    line: int
    made: bool = False


def _leaves(tokens: Sequence[Token], body: str) -> Iterator[_Leaf]:
    source = lines(body).replace("\0", "\ufffd").split("\n")  # as the parser reads them
    row: list[_Leaf] | None = None
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type == "tr_open":
            row = []
        elif token.type == "inline" and row is not None:
            row.append(_Leaf(token.content, start + 1))
        elif token.type == "inline":
            first = token.content.partition("\n")[0]
            # A line of blanks that are none to Markdown begins a paragraph, and is stripped off it.
            yield _Leaf(
                token.content, next((at for at in range(start, end) if first in source[at]), start) + 1
            )
        elif token.type == "tr_close" and row is not None:
            last = max((at for at, cell in enumerate(row) if _MADE.search(cell.content)), default=0)
            yield from (cell._replace(made=at < last) for at, cell in enumerate(row))
            row = None


def _of_leaf(leaf: _Leaf, env: dict[str, Any], seen: set[str]) -> Iterator[Reference]:
    """The references of one leaf; the labels of definitions that it uses go into `seen`."""
    ends = [found.start() for found in re.finditer("\n", leaf.content)]
    made = [found.start() for found in _MADE.finditer(leaf.content)]
    for token in inline_tokens(leaf.content, env, links_only=True):
        if "span" not in token.meta:  # no mark, or an `<https://…>`
            continue
        kind, attribute = _KINDS[token.type]
        seen.add(token.meta.get("label", ""))
        begin, end = token.meta["span"]
        target = str(token.attrs[attribute]).strip() if attribute else token.content
        if not (is_relative(target) if attribute else reads_as_path(target)) or leaf.made:
            continue
        behind = bisect_left(made, end)
        same_line = behind < len(made) and bisect_left(ends, made[behind]) == bisect_left(ends, end)
        if not same_line and not _titled_made(token.attrs.get("title")):
            yield Reference(kind, target, leaf.line + bisect_left(ends, begin))


def _titled_made(title: object) -> bool:
    """Whether Markdown took a `(new)` behind a target for the link's title."""
    return str(title).lower() in ("create", "new")


def _unused(env: dict[str, Any], seen: set[str]) -> Iterator[Reference]:
    """The definitions that nothing refers to, and those that an earlier one of their name hides."""
    refs = [ref for label, ref in env.get("references", {}).items() if label not in seen]
    for ref in (*refs, *env.get("duplicate_refs", ())):
        if is_relative(ref["href"]) and not _titled_made(ref["title"]):
            yield Reference("link", ref["href"].strip(), ref["map"][0] + 1)


def _numbers(body: str, first_line: int) -> Callable[[int], int]:
    """From a line as Markdown counts, from 1, to the file's. A lone CR ends a line of Markdown's, and none of a file."""
    if "\r" not in body.replace("\r\n", ""):
        return lambda line: first_line + line - 1
    ended = list(accumulate(("\n" in found.group() for found in _BREAK.finditer(body)), initial=0))
    return lambda line: first_line + ended[line - 1]
