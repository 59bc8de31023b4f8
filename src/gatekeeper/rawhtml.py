"""What raw HTML inside Markdown does to the text around it: which is hidden, and inside what it stands.

The gate asks whether a reader still sees a line (CONTRACT 5, GK134). Comments, `<script>`,
`<div hidden>` and the like take text away; `<details>`, `<del>` or any other element shows it,
but not as it was shown before. So `Html` follows which elements are open, as an HTML parser
would, and gives each line its surroundings: equal surroundings, equal text. Where browsers'
repair of broken HTML has no short description, an element is taken to stay open: then lines
after it differ from what they were, which asks a person to look.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_OPEN = 64
"""How many elements may be open at once; an honest task leaves a handful open."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements that hold nothing."""

RAW = _names("iframe noembed noframes noscript plaintext script style textarea title xmp")
"""Elements whose content is no HTML; only their own end tag ends it."""

UNSEEN = RAW | _names("audio canvas datalist dialog math object select svg template video")
"""Elements whose content a page does not show as text."""

LASTING = _names("a b big code em font i math nobr s small strike strong svg tt u")
"""Formatting elements, which a parser opens again behind the block that ends them, and foreign ones."""

IMPLIED = _names("dd dt li optgroup option p rb rp rt rtc tbody td tfoot th thead tr")
"""Elements whose end tag may be left out."""

SPECIAL = IMPLIED | _names("""
    address applet article aside blockquote body button caption center colgroup details dir div dl fieldset
    figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup html iframe listing main
    marquee menu nav noembed noframes noscript object ol plaintext pre script search section select style summary
    table template textarea title ul xmp
""")
"""Elements that an end tag of another, ordinary element does not close."""

# A tag as HTML reads it: a quote counts only behind `=`. Every repetition is possessive, so that
# a tag that never ends is found out in one pass.
_TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)
    (?P<rest>(?:
        [\s/]++
      | [^\s/>][^\s/>=]*+ (?: \s*+=\s*+ (?: "[^"]*+" | '[^']*+' | [^\s>"'][^\s>]*+ | (?=>) ) | (?!\s*+=) )
    )*+)>""",
    re.VERBOSE,
)
_HIDING = re.compile(
    r"""(?:^|[\s/"'])(?:hidden(?=[\s/=>]|$)|style\s*=[^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden))""",
    re.IGNORECASE,
)
_COMMENT_END = re.compile(r"--!?>")


class TooDeepError(ValueError):
    """More elements are open than any honest text leaves open."""


@dataclass(frozen=True, slots=True)
class _Open:
    """An open element; `around` and `hidden` hold for all that stands in it, outer elements counted in."""

    name: str
    written: str
    hides: bool
    around: str
    hidden: bool


class Html:
    """Which elements are open, as one piece of raw HTML after another is read."""

    def __init__(self) -> None:
        self.open: list[_Open] = []
        self._ends_with: str | None = None  # "-->" in a comment, "" in a tag that never ends

    @property
    def hidden(self) -> bool:
        """Whether text that stands here is not shown."""
        return self._ends_with is not None or bool(self.open and self.open[-1].hidden)

    @property
    def around(self) -> str:
        """What stands around the text here: empty, or a digest of the open elements as written."""
        return self.open[-1].around if self.open else ""

    def depth(self) -> int:
        """How many elements are open; `end_block` takes it back."""
        return len(self.open)

    def end_block(self, depth: int) -> None:
        """End a paragraph that began at `depth`: ordinary elements end with it, unless one opened a block."""
        inner = self.open[depth:]
        if inner and not any(element.name in SPECIAL for element in inner):
            self._keep(depth, [element for element in inner if element.name in LASTING])

    def read(self, raw: str) -> Iterator[tuple[str, bool]]:
        """The shown parts of a piece of raw HTML, each with whether it is a tag; raises TooDeepError.

        Text is given as written, a tag on one line. The state holds for the part just given.
        """
        at = self._resume(raw)
        while at < len(raw):
            start = self._next(raw, at)
            if start > at and not self.hidden:
                yield raw[at:start], False
            if start == len(raw):
                return
            tag = _TAG.match(raw, start)
            if tag is not None:
                at = tag.end()
                before = self.hidden
                self._step(tag)
                if not (before or self.hidden):
                    yield " ".join(tag.group().split()), True
            else:
                at = self._skip(raw, start)

    def _next(self, raw: str, at: int) -> int:
        """Where the next markup begins, the text's length where there is none."""
        if self.open and self.open[-1].name in RAW:
            end = re.compile(rf"</{re.escape(self.open[-1].name)}(?=[\s/>])", re.IGNORECASE).search(raw, at)
            return len(raw) if end is None else end.start()
        found = re.compile(r"<(?=[A-Za-z!?/])").search(raw, at)
        return len(raw) if found is None else found.start()

    def _resume(self, raw: str) -> int:
        """Where reading goes on: behind the end of what an earlier piece left open."""
        if self._ends_with is None:
            return 0
        end = _COMMENT_END.search(raw) if self._ends_with else None
        if end is None:
            return len(raw)
        self._ends_with = None
        return end.end()

    def _skip(self, raw: str, start: int) -> int:
        """Behind a comment, a declaration or an instruction; what does not end hides what follows."""
        if raw.startswith("<!--", start):
            if raw.startswith((">", "->"), start + 4):
                return raw.index(">", start) + 1
            end = _COMMENT_END.search(raw, start + 4)
            if end is None:
                self._ends_with = "-->"
                return len(raw)
            return end.end()
        closing = next((c for o, c in (("<?", "?>"), ("<![CDATA[", "]]>")) if raw.startswith(o, start)), ">")
        named = re.compile(r"</?[A-Za-z]").match(raw, start)
        end_at = -1 if named else raw.find(closing, start + 2)
        if end_at < 0:
            self._ends_with = ""
            return len(raw)
        return end_at + len(closing)

    def _step(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        if tag["end"]:
            self._close(name)
        elif name not in VOID:
            if len(self.open) >= MAX_OPEN:
                raise TooDeepError(f"more than {MAX_OPEN} HTML elements are open")
            hides = name in UNSEEN or _HIDING.search(tag["rest"]) is not None
            self._push(name, " ".join(tag.group().split()), hides)

    def _push(self, name: str, written: str, hides: bool) -> None:
        around = blake2b(f"{self.around} {written}".encode(), digest_size=8).hexdigest()
        hidden = hides or bool(self.open and self.open[-1].hidden)
        self.open.append(_Open(name, written, hides, around, hidden))

    def _close(self, name: str) -> None:
        """Close the nearest element of that name, if the end tag reaches it."""
        for index in range(len(self.open) - 1, -1, -1):
            element = self.open[index]
            if element.name == name:
                above = self.open[index + 1 :]
                self._keep(index, [e for e in above if e.name in LASTING])
                return
            if element.name in SPECIAL and not (name in SPECIAL and element.name in IMPLIED):
                return

    def _keep(self, depth: int, rest: list[_Open]) -> None:
        """Close all above `depth` but `rest`."""
        del self.open[depth:]
        for element in rest:
            self._push(element.name, element.written, element.hides)
