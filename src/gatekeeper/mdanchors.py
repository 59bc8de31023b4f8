"""What can be pointed at in a Markdown file: its anchors.

Headings count wherever GitHub shows them, in quotes, in lists and in HTML; those in comments and
code blocks are none. Source of the rules: CONTRACT 5, verify-task-links; `slugs`.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

from gatekeeper.asktext import lines
from gatekeeper.mdbounds import UnreadableError
from gatekeeper.mdparser import block_tokens, inline_tokens, parser_faults
from gatekeeper.rawhtml import COMMENT_END, RAW, TAG
from gatekeeper.slugs import Slugs, slug

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["UnreadableError", "anchors"]

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"^[^\s#:-][^\n]*?:(?:[ \t]|$)", re.MULTILINE)
_NAMES = re.compile(r"<h[1-6]|(?:id|name)\s*+=", re.IGNORECASE)
_NAMED = re.compile(r"</?[A-Za-z]")
_ATTRIBUTE = re.compile(r"""([^\s/>=]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+))?+""")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def anchors(text: str) -> frozenset[str]:
    """The anchors of a Markdown file: its headings', as GitHub counts them, and every `id` and `name` of its HTML.

    Front matter has none. Raises UnreadableError.
    """
    with parser_faults():
        tokens, env = block_tokens(_without_front_matter(lines(text)))
        page = _Page(env)
        for token in tokens:
            page.take(token)
        return frozenset(page.found)


def _without_front_matter(text: str) -> str:
    """A file without its header: what stands between two lines of dashes, and is a mapping as far as one sees."""
    text = text.removeprefix("\ufeff")
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end() + 1) if opening else None
    if opening is None or closing is None or not _KEY.search(text, opening.end() + 1, closing.start()):
        return text
    return text[closing.end() :]


class _Page:
    """A document's tokens, one after another → its anchors. Headings of HTML count as Markdown's do."""

    def __init__(self, env: dict[str, Any]) -> None:
        self.found: set[str] = set()
        self._env = env
        self._slugs = Slugs()
        self._text: list[str] | None = None  # of the heading that is being read
        self._markdown = False  # whether that is one of Markdown's own

    def take(self, token: Token) -> None:
        """The next block token."""
        if token.type == "heading_open":
            self._text, self._markdown = [], True
        elif token.type == "heading_close":
            self._close()
        elif token.type == "html_block":
            self._raw(token.content)
        elif token.type == "inline" and (self._text is not None or _NAMES.search(token.content)):
            for child in inline_tokens(token.content, self._env):
                self._child(child)

    def _child(self, token: Token) -> None:
        """Text, code and breaks are a heading's text; a picture's is none of it."""
        if token.type in ("text", "text_special", "code_inline"):
            self._write(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            self._write("\n")
        elif token.type == "html_inline":
            self._raw(token.content)

    def _write(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _close(self) -> None:
        """The end of the heading that is being read, if one is."""
        if self._text is None:
            return
        text = "".join(self._text)
        self.found.add(self._slugs.add(text))
        if (
            not self._markdown
        ):  # whether GitHub keeps the blanks around HTML's own text is not known: either holds
            self.found.add(slug(" ".join(text.split())))
        self._text, self._markdown = None, False

    def _raw(self, html: str) -> None:
        """A piece of HTML: its tags, and the text between them. A tag that never ends is its end."""
        at = 0
        while at < len(html):
            start = html.find("<", at)
            start = len(html) if start < 0 else start
            self._write(unescape(html[at:start]))
            tag = TAG.match(html, start)
            if tag is not None:
                self._tag(tag)
                at = _behind(html, tag)
            elif _NAMED.match(html, start):
                return
            else:
                at = _skipped(html, start)

    def _tag(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        if name in _HEADINGS and not self._markdown:
            if tag["end"]:
                self._close()
            else:
                self._text = []
        if not tag["end"]:
            for key, value in _ATTRIBUTE.findall(tag["rest"]):
                bare = value[1:-1] if value[:1] in ("'", '"') else value
                if key.lower() in ("id", "name") and bare:
                    self.found.add(unescape(bare))


def _behind(html: str, tag: re.Match[str]) -> int:
    """Where reading goes on behind a tag: what stands in `<style>` and the like is no HTML."""
    name = tag["name"].lower()
    if tag["end"] or name not in RAW:
        return tag.end()
    closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, tag.end())
    return closing.start() if closing else len(html)


def _skipped(html: str, start: int) -> int:
    """Behind a comment, a declaration, or a `<` that is text."""
    if html.startswith("<!--", start):
        end = COMMENT_END.search(html, start + 4)
        return end.end() if end else len(html)
    if html.startswith(("<!", "<?"), start):
        end_at = html.find(">", start)
        return end_at + 1 if end_at >= 0 else len(html)
    return start + 1
