"""What a Markdown text points at in its repository, line by line.

Read on the tokens of `mdparser`. Each mark remembers where in its paragraph it began, so that the
line is the true one wherever it stands. Links and images are Markdown's own, whichever way they
are written, and definitions that nothing refers to; HTML's `<a href>` is none. Footnotes are text.
Source of the rules: CONTRACT 5, verify-task-links.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from gatekeeper.asktext import lines
from gatekeeper.linktargets import is_relative, may_point, reads_as_path
from gatekeeper.mdbounds import UnreadableError
from gatekeeper.mdparser import block_tokens, inline_tokens, parser_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from markdown_it.token import Token

__all__ = ["Reference", "UnreadableError", "links"]

_KINDS = {"link_open": ("link", "href"), "image": ("image", "src"), "code_inline": ("code", "")}
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
        tokens, env = block_tokens(lines(body))
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
