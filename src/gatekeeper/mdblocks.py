"""A Markdown body → its leaves in order: what each shows, line by line, as GitHub renders it.

Read by markdown-it, so that a `<!--` in code is code and a fence that never closes holds the rest;
`rawhtml` says what HTML hides, and footnotes, which GitHub knows and markdown-it does not, are
told apart here. A line comes as a key for comparison: what stands around it, its structure, its
text. List markers and tick boxes are no part of it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gatekeeper.mdbounds import UnreadableError, refuse_doubts, spend_marks
from gatekeeper.mdparser import block_tokens, inline_tokens, parser_faults
from gatekeeper.rawhtml import CONTAINERS, Html

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from markdown_it.token import Token

MARK = "\x02"
"""Stands before structure in a key; a body's own is replaced, so that no text can pass for structure."""
AROUND = "\x03"
"""Stands between a line's surroundings and structure, and its text."""

_RESERVED = {ord(MARK): "\ufffd", ord(AROUND): "\ufffd"}
_BLANKS = re.compile(r"[ \t\n]+")
_BOX = re.compile(r"\[[ xX]\](?: |$)")
_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+", re.IGNORECASE)
# GitHub strikes out between single tildes, too, and sets what stands between `$$` as a formula.
_TOGGLES = re.compile(r"(?<!~)~(?!~)|\$\$")
_NOTED = re.compile(r"\[\^([^\[\]]+)\]")
_WRAPS = {"em": "*", "strong": "**", "s": "~~", "link": "["}


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
    with parser_faults():
        tokens, env = block_tokens(body.translate(_RESERVED))
        refuse_doubts(env)
        tokens = _as_rendered(tokens)
        reader = _Reader(tokens, env)
        blocks = list(reader.blocks())
        if reader.html.unclosed:
            blocks = list(_Reader(tokens, env, frozenset(reader.html.unclosed)).blocks())
    found = env.get("references", {}).items()
    return blocks, frozenset((label, ref["href"], ref["title"]) for label, ref in found)


def _as_rendered(tokens: Sequence[Token]) -> list[Token]:
    """A document's tokens as they are shown: the footnotes behind all else."""
    shown: list[Token] = []
    notes: list[Token] = []
    depth = 0
    for token in tokens:
        note = token.type.startswith("footnote")
        depth += token.nesting if note else 0
        if depth > 1:  # which of two with one label is shown, the inner or the outer one, nobody would guess
            raise UnreadableError("a footnote stands in another one")
        (notes if depth or note else shown).append(token)
    return shown + notes


def _label(note: Token) -> str:
    return str(note.meta["label"]).casefold()


class _Reader:
    """markdown-it's tokens → leaves; holds what stands around the next one."""

    def __init__(
        self, tokens: Sequence[Token], env: dict[str, Any], shown: frozenset[int] = frozenset()
    ) -> None:
        self.tokens = tokens
        self.env = env
        self.labels = {_label(token) for token in tokens if token.type == "footnote_open"}
        self.html = Html(shown)
        self.quotes = 0
        self.level = 0
        self.at_item = False
        self.tight = False
        self.cell = ""
        self.cells: list[tuple[str, _Run]] = []
        self.end = 0
        self.notes: list[str] = []
        self.known: Counter[str] = Counter()

    def blocks(self) -> Iterator[Block]:
        """The leaves in order."""
        for token in self.tokens:
            kind = token.type
            if token.tag in CONTAINERS:
                self.container(token)
            elif kind == "paragraph_open":
                self.tight = token.hidden
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
                self.at_item = self.tight = False
            elif kind.startswith("footnote"):
                self.note(token)

    def container(self, token: Token) -> None:
        """A list, an item of one, a quote or a table begins or ends."""
        self.quotes += token.nesting if token.tag == "blockquote" else 0
        self.at_item = self.at_item or token.type == "list_item_open"
        if token.nesting > 0:
            self.html.enter(token.tag)
        else:
            self.html.leave()

    def note(self, token: Token) -> None:
        """A footnote begins or ends. Of two with one label GitHub shows the first."""
        if token.nesting < 0:
            self.notes.pop()
            return
        label = _label(token)
        self.known[label] += 1
        self.notes.append(f"{MARK}[^{label}]{self.known[label]}")

    def leaf(self, token: Token) -> Block:
        """One leaf that is no table's."""
        start, end = token.map or (self.end, self.end)
        lead = self.lead(token.type)
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
        lead = self.lead("row")
        self.end = start + 1
        text = f" {MARK}| ".join(" ".join(text for _, text in run.lines) for _, run in cells)
        around = "".join(run.began for _, run in cells) + lead + MARK + "".join(tag for tag, _ in cells)
        says = any(run.says for _, run in cells)
        lines = (around + AROUND + text,) if says else ()
        links = tuple(link for _, run in cells for link in run.links)
        return Block("row", start + 1, lines, says, self.html.hidden, links=links)

    def run(self, token: Token) -> _Run:
        """The inline text or raw HTML of a token, read with what is open around it."""
        run = _Run(self.html, self.labels, boxed=self.at_item, start=token.map[0] if token.map else self.end)
        if not token.content:  # rows filled up to the table's width come by the ten thousand
            return run
        if token.type == "html_block":
            if token.children is None:
                spend_marks(token.content, self.env)
                token.children = []
            run.raw(token.content)
        else:
            within = "td" if self.cell else "" if self.tight else "p"
            if within:  # in a list without blank lines a paragraph is no element of its own
                self.html.enter(within)
            if not token.children:
                token.children = inline_tokens(token.content, self.env)
            run.feed(token.children or ())
            if within:
                self.html.leave()
        run.end_line()
        return run

    def lead(self, kind: str) -> str:
        """What a leaf's structure puts before each of its lines."""
        lead = f"{MARK}>" * self.quotes + "".join(self.notes)
        if self.level:
            lead += f"{MARK}{'#' * self.level}"
        return lead + {"code_block": f"{MARK}:", "html_block": f"{MARK}<"}.get(kind, "")


class _Run:
    """One stretch of inline text → its shown lines, each with its surroundings."""

    def __init__(self, html: Html, notes: Collection[str], *, boxed: bool, start: int) -> None:
        self.html = html
        self.notes = notes
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
        self.parts.append(self.noted(content) if "[^" in content else content)
        self.words.append(content)
        self.bare.append(content)
        for found in _TOGGLES.findall(content):
            self.toggled[found] = not self.toggled.get(found, False)
        if content.strip():
            self.filled = self.worded = True

    def noted(self, content: str) -> str:
        """Text with its references to footnotes marked. What one takes more than a line for GitHub does not show."""
        if "[^" in _NOTED.sub("", content):
            self.toggled["[^"] = True
        return _NOTED.sub(lambda found: MARK * (found[1].casefold() in self.notes) + found.group(), content)

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
