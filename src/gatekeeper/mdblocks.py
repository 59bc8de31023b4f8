"""A Markdown body → its leaves in order: what each shows, line by line, as GitHub renders it.

Read by markdown-it, so that a `<!--` in code is code and a fence that never closes holds the rest;
`rawhtml` says what HTML hides, and footnotes, which GitHub knows and markdown-it does not, are
told apart here. A line comes as a key for comparison: what stands around it, its structure, its
text. List markers and tick boxes are no part of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gatekeeper.rawhtml import Html, TooDeepError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# markdown-it's time grows with these, not with the text's length alone; together they keep one
# body near a second, and no honest task comes near them.
MAX_BODY = 1024 * 1024
MAX_LINES = 20_000
MAX_CONTAINERS = 30_000
MAX_PIPES = 60_000
MAX_PIPES_IN_LINE = 1_000
MAX_MARKS = 20_000

MARK = "\x02"
"""Stands before structure in a key; a body's own is replaced, so that no text can pass for structure."""
AROUND = "\x03"
"""Stands between a line's surroundings and structure, and its text."""

_RESERVED = {ord(MARK): "\ufffd", ord(AROUND): "\ufffd"}
_CONTAINERS = re.compile(r"^(?:[ \t]*+(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))+", re.MULTILINE)
_MARKS = re.compile(r"[\[\]*_`<&\\~]")
_BLANKS = re.compile(r"[ \t\n]+")
_BOX = re.compile(r"\[[ xX]\](?: |$)")
_NOTE = re.compile(r"^[ \t]*\[\^[^\]\s]+\]:", re.MULTILINE)
_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+", re.IGNORECASE)
# GitHub strikes out between single tildes, too, and sets what stands between `$$` as a formula.
_TOGGLES = re.compile(r"(?<!~)~(?!~)|\$\$")
_WRAPS = {"em": "*", "strong": "**", "s": "~~", "link": "["}


class UnreadableError(ValueError):
    """A body that can't be read as Markdown within bounds; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A leaf of the document: a paragraph, heading, fence, table row and so on.

    `line` counts from 1 in the body. `level` is a heading's, else 0; `text` a heading's text or a
    fence's content; `says` whether text or a picture is shown; `links` are the targets that are.
    """

    kind: str
    line: int
    lines: tuple[str, ...]
    says: bool
    hidden: bool
    level: int = 0
    text: str = ""
    links: tuple[str, ...] = ()


Definitions = frozenset[tuple[str, str, str]]
"""Link reference definitions: label, target, title. They are not shown."""


def read(body: str) -> tuple[list[Block], Definitions]:
    """The leaves of a body with LF line ends, and its link definitions. Raises UnreadableError."""
    _refuse_too_much(body)
    env: dict[str, Any] = {}
    try:
        tokens = _parser().parse(body.translate(_RESERVED), env)
        marks = sum(len(_MARKS.findall(t.content)) for t in tokens if t.type in ("inline", "html_block"))
        _limit(marks, MAX_MARKS, "marks outside code blocks")
        blocks = list(_Reader(env).blocks(tokens))
    except (UnreadableError, TooDeepError) as err:
        raise UnreadableError(str(err)) from None
    except Exception as err:  # noqa: BLE001 -- a parser's own fault must never read as "all is there"
        raise UnreadableError(f"the Markdown parser gave up ({type(err).__name__})") from None
    found = env.get("references", {}).items()
    return blocks, frozenset((label, ref["href"], ref["title"]) for label, ref in found)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 -- 35 ms that most checks need not spend

    # Inline text is parsed leaf by leaf, once it is known how much of it there is.
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("inline")


def _refuse_too_much(text: str) -> None:
    _limit(len(text), MAX_BODY, "characters")
    _limit(text.count("\n"), MAX_LINES, "lines")
    _limit(text.count("|"), MAX_PIPES, "vertical bars")
    _limit(max(line.count("|") for line in text.split("\n")), MAX_PIPES_IN_LINE, "vertical bars in a line")
    nested = (found.group() for found in _CONTAINERS.finditer(text))
    _limit(sum(g.count(">") + len(g.split()) for g in nested), MAX_CONTAINERS, "list markers and quote marks")


def _limit(count: int, most: int, what: str) -> None:
    if count > most:
        raise UnreadableError(f"it holds {count} {what}, and at most {most} are read")


class _Reader:
    """markdown-it's tokens → leaves; holds what stands around the next one."""

    def __init__(self, env: dict[str, Any]) -> None:
        self.env = env
        self.html = Html()
        self.quotes = 0
        self.level = 0
        self.at_item = False
        self.cell = ""
        self.cells: list[tuple[str, _Run]] = []
        self.end = 0
        self.in_note = False
        every = [
            *env.get("references", {}).items(),
            *((r["label"], r) for r in env.get("duplicate_refs", ())),
        ]
        self.notes = sorted(ref["map"][1] for label, ref in every if label.startswith("^"))

    def blocks(self, tokens: Sequence[Token]) -> Iterator[Block]:
        """The leaves in order."""
        for token in tokens:
            kind = token.type
            if kind.startswith("blockquote"):
                self.quotes += token.nesting
            elif kind == "list_item_open":
                self.at_item = True
            elif kind == "heading_open":
                self.level = int(token.tag[1])
            elif kind in ("th_open", "td_open"):
                self.cell = token.tag
            elif kind == "inline" and self.cell:
                self.cells.append((self.cell, self.run(token)))
                self.cell = ""
            elif kind == "tr_close":
                yield self.row()
            elif kind in ("inline", "fence", "code_block", "html_block", "hr"):
                yield self.leaf(token)
                self.level = 0
                self.at_item = False

    def leaf(self, token: Token) -> Block:
        """One leaf that is no table's."""
        start, end = token.map or (self.end, self.end)
        lead = self.lead(token.type, start, token.content)
        self.end = end
        hidden = self.html.hidden
        if token.type in ("inline", "html_block"):
            run = self.run(token)
            lines = tuple(around + lead + AROUND + text for around, text in run.lines)
            return Block(
                token.type, start + 1, lines, run.says, hidden, self.level, run.plain(), tuple(run.links)
            )
        content = [line.rstrip() for line in token.content.split("\n")]
        if token.type == "hr":
            content = ["---"]
            lead += f"{MARK}-"
        elif token.type == "fence":
            lead += f"{MARK}```{token.info.strip()}"
        lines = tuple(self.html.around + lead + AROUND + line for line in content if line and not hidden)
        says = not hidden and bool(token.content.strip())
        return Block(token.type, start + 1, lines, says, hidden, text=token.content)

    def row(self) -> Block:
        """A table's row as one line."""
        cells, self.cells = self.cells, []
        start = cells[0][1].start if cells else self.end
        lead = self.lead("row", start, "")
        self.end = start + 1
        text = f" {MARK}| ".join(" ".join(text for _, text in run.lines) for _, run in cells)
        around = "".join(run.began for _, run in cells) + lead + MARK + "".join(tag for tag, _ in cells)
        says = any(run.says for _, run in cells)
        lines = (around + AROUND + text,) if says else ()
        links = tuple(link for _, run in cells for link in run.links)
        return Block("row", start + 1, lines, says, self.html.hidden, links=links)

    def run(self, token: Token) -> _Run:
        """The inline text or raw HTML of a token, read with what is open around it."""
        run = _Run(self.html, boxed=self.at_item, start=token.map[0] if token.map else self.end)
        if token.type == "html_block":
            run.raw(token.content)
        else:
            depth = self.html.depth()
            children: list[Token] = []
            if token.content:  # rows filled up to the table's width come by the ten thousand
                parser = _parser()
                parser.inline.parse(token.content, parser, self.env, children)
            run.feed(children)
            self.html.end_block(depth)
        run.end_line()
        return run

    def lead(self, kind: str, start: int, content: str) -> str:
        """What a leaf's structure puts before each of its lines."""
        self.in_note = self.notes_on(kind, start, content)
        lead = f"{MARK}>" * self.quotes + f"{MARK}^" * self.in_note
        if self.level:
            lead += f"{MARK}{'#' * self.level}"
        return lead + {"code_block": f"{MARK}:", "html_block": f"{MARK}<"}.get(kind, "")

    def notes_on(self, kind: str, start: int, content: str) -> bool:
        """Whether GitHub takes a leaf for part of a footnote, which it moves away, or drops if nobody refers to it."""
        index = bisect_right(self.notes, start)
        last = self.notes[index - 1] if index else -1
        if kind == "code_block":  # what is indented goes on with the note, blank lines or not
            return self.in_note or last > self.end
        if kind == "row":
            return last == start or self.in_note
        if kind in ("inline", "html_block"):
            return last == start or _NOTE.search(content) is not None
        return False


class _Run:
    """One stretch of inline text → its shown lines, each with its surroundings."""

    def __init__(self, html: Html, *, boxed: bool, start: int) -> None:
        self.html = html
        self.boxed = boxed
        self.start = start
        self.began = self.around = html.around
        self.lines: list[tuple[str, str]] = []
        self.parts: list[str] = []
        self.wraps: list[str] = []
        self.targets: list[tuple[str, int]] = []
        self.toggled: dict[str, bool] = {}
        self.words: list[str] = []
        self.bare: list[str] = []
        self.links: list[str] = []
        self.says = False
        self.filled = self.worded = False

    def plain(self) -> str:
        """The text without any marks, on one line."""
        return _BLANKS.sub(" ", "".join(self.words)).strip()

    def feed(self, tokens: Sequence[Token]) -> None:
        """Read inline tokens, and gather the bare URLs of their text."""
        for token in tokens:
            name, _, end = token.type.rpartition("_")
            if token.type in ("softbreak", "hardbreak"):
                self.end_line()
                self.words.append("\n")
                self.bare.append("\n")
            elif token.type in ("text", "text_special"):
                self.text(token.content)
            elif token.type == "html_inline":
                self.raw(token.content)
            elif name in _WRAPS and end in ("open", "close"):
                self.wrap(name, token)
            elif not self.html.hidden:
                self.leaf(token)
        self.links += [url.rstrip(".,;:!?") for url in _URL.findall("".join(self.bare))]

    def text(self, content: str) -> None:
        """Text, if it is shown."""
        if self.html.hidden:
            return
        self.parts.append(content)
        self.words.append(content)
        self.bare.append(content)
        for found in _TOGGLES.findall(content):
            self.toggled[found] = not self.toggled.get(found, False)
        if content.strip():
            self.filled = self.worded = True

    def raw(self, content: str) -> None:
        """Raw HTML: its text, line by line, and its tags."""
        for part, is_tag in self.html.read(content):
            if is_tag:
                self.parts.append(MARK + part)
                self.filled = True
                continue
            for index, line in enumerate(part.split("\n")):
                if index:
                    self.end_line()
                self.text(line)

    def wrap(self, name: str, token: Token) -> None:
        """A mark that opens or closes; a line that begins inside one carries it."""
        mark = MARK + _WRAPS[name]
        if token.nesting > 0:
            self.wraps.append(mark)
            if name == "link":
                self.targets.append((_target(token, "href"), len(self.words)))
        else:
            self.wraps.pop()
            if name == "link":
                target, since = self.targets.pop()
                mark = f"{MARK}]({target})"
                self.filled = True
                self.link(target, any(word.strip() for word in self.words[since:]))
        if not self.html.hidden:
            self.parts.append(mark)

    def leaf(self, token: Token) -> None:
        """A code span or a picture."""
        self.filled = self.worded = True
        if token.type == "code_inline":
            self.parts.append(f"{MARK}`{token.content}{MARK}`")
            self.words.append(token.content)
        else:
            target = _target(token, "src")
            self.parts.append(f"{MARK}![{token.content}]({target})")
            self.words.append("\ufffc")
            self.link(target, seen=True)

    def link(self, target: str, seen: bool) -> None:
        """A target that a reader can follow off this page."""
        address = target.partition(" ")[0]
        if seen and address and not address.startswith("#") and not self.html.hidden:
            self.links.append(address)

    def end_line(self) -> None:
        """Close a line; where nothing is shown on it, it is none."""
        text = _BLANKS.sub(" ", "".join(self.parts)).strip(" ") if self.filled else ""
        if self.boxed and text:
            text = _BOX.sub("", text, count=1) if _BOX.match(text) else text
            self.boxed = False
        if text:
            self.lines.append((self.around, text))
            self.says = self.says or self.worded
        self.around = self.html.around
        self.parts = [*self.wraps, *(MARK + mark for mark, on in self.toggled.items() if on)]
        self.filled = self.worded = False


def _target(token: Token, name: str) -> str:
    title = token.attrs.get("title")
    return f"{token.attrs.get(name, '')}" + (f' "{title}"' if title else "")
