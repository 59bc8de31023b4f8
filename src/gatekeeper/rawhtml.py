"""What raw HTML inside Markdown does to the text around it: which is hidden, and inside what it stands.

The gate asks whether a reader still sees a line (CONTRACT 5, GK134). Comments, `<script>`,
`<div hidden>` and the like take text away; `<details>`, `<del>` or any other element shows it,
but not as it was shown before. So `Html` follows which elements are open, as an HTML parser
would, and gives each line its surroundings: equal surroundings, equal text. Where browsers'
repair of broken HTML has no short description, an element is taken to stay open: then lines
after it differ from what they were, which asks a person to look. `<script>` and its like are read
as any element is: GitHub shows their tags as text, other pages hide what is in them, and either
way all that is read here as open is accounted for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from gatekeeper.mdbounds import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_OPEN = 64
"""How many elements may be open at once; an honest task leaves a handful open."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONTAINERS = _names("blockquote li ol table ul")
"""Elements that Markdown makes around paragraphs, rows or each other."""

VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements that hold nothing."""

RAW = _names("iframe noembed noframes noscript plaintext script style textarea title xmp")
"""Elements whose content a browser takes for no HTML."""

UNSEEN = RAW | _names("audio canvas datalist dialog math object select svg template video")
"""Elements whose content a page does not show as text."""

FOREIGN = _names("math svg")
"""Elements of other languages than HTML."""

LASTING = FOREIGN | _names("a b big code em font i nobr s small strike strong tt u")
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

_WALLS = RAW | _names("""
    applet body button caption colgroup form frameset head html li marquee object ol select table tbody td
    template tfoot th thead tr ul
""")
"""Elements that may keep what Markdown closes from being closed."""

_FREE = SPECIAL - RAW - _names("optgroup option rb rp rt rtc")
"""Elements whose end tags close what stands open in them, if that is one whose end tag may be left out."""

# A tag as HTML reads it: a quote counts only behind `=`, and blanks are these five. Every repetition
# is possessive, so that a tag that never ends is found out in one pass.
TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z][^\x20\t\n\f\r/>]*+)
    (?P<rest>(?:
        [\x20\t\n\f\r/]++
      | [^\x20\t\n\f\r/>][^\x20\t\n\f\r/>=]*+
        (?: [\x20\t\n\f\r]*+=[\x20\t\n\f\r]*+
            (?: "[^"]*+" | '[^']*+' | [^\x20\t\n\f\r>"'][^\x20\t\n\f\r>]*+ | (?=>) )
          | (?![\x20\t\n\f\r]*+=) )
    )*+)>""",
    re.VERBOSE,
)
"""A whole tag: whether it is an `end` tag, its `name`, and the `rest` before the `>`."""

_HIDING = re.compile(
    r"""(?:^|[\s/"'])(?:hidden(?=[\s/=>]|$)|style\s*=[^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden))""",
    re.IGNORECASE,
)
COMMENT_END = re.compile(r"--!?>")
"""Where HTML ends a comment."""

_MARKUP = re.compile(r"<(?=[A-Za-z!?/])")
_NAMED = re.compile(r"</?[A-Za-z]")
_ENDLESS = ""
"""The name of what opens where a tag never ends; nothing closes it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """An open element; `around` and `hidden` hold for all that stands in it, outer elements counted in.

    `number` is which of the document's elements it is.
    """

    name: str
    written: str
    number: int
    hides: bool
    around: str
    hidden: bool


class Html:
    """Which elements are open, as one piece of raw HTML after another is read.

    An element that hides what is in it does so only where its own end tag closes it, so that a mere
    `<select>` in a sentence takes nothing away. That is known at the end alone: `unclosed` holds the
    numbers of those that were not, and a second `Html` is told them as `shown`.
    """

    def __init__(self, shown: frozenset[int] = frozenset()) -> None:
        self.open: list[_Open] = []
        self.unclosed: set[int] = set()
        self._shown = shown
        self._count = 0
        self._in_comment = False
        self._made: list[_Open | None] = []

    @property
    def hidden(self) -> bool:
        """Whether text that stands here is not shown."""
        return self._in_comment or bool(self.open and self.open[-1].hidden)

    @property
    def around(self) -> str:
        """What stands around the text here: empty, or a digest of the open elements as written."""
        return self.open[-1].around if self.open else ""

    def enter(self, name: str) -> None:
        """Begin an element that Markdown itself makes: it makes no difference to the text in it."""
        if self._in_comment:
            self._made.append(None)
            return
        hidden = bool(self.open and self.open[-1].hidden)
        made = _Open(name, "", 0, hides=False, around=self.around, hidden=hidden)
        self._made.append(made)
        self.open.append(made)

    def leave(self) -> None:
        """End it, unless HTML has done so before; and with it what was opened in it, if that is nothing strange."""
        made = self._made.pop()
        index = next((at for at, element in enumerate(self.open) if element is made), None)
        if made is None or index is None:
            return
        above = self.open[index + 1 :]
        walls = _WALLS if made.name in CONTAINERS else SPECIAL
        if self._in_comment or any(element.name in walls or element.name == _ENDLESS for element in above):
            self._keep(index, above)
        else:
            self._keep(index, [e for e in above if e.name in LASTING and made.name != "td"])

    def read(self, raw: str) -> Iterator[tuple[str, bool]]:
        """The shown parts of a piece of raw HTML, each with whether it is a tag; raises UnreadableError.

        Text is given as written, a tag on one line. The state holds for the part just given.
        """
        at = self._resume(raw)
        while at < len(raw):
            found = _MARKUP.search(raw, at)
            start = found.start() if found else len(raw)
            if start > at and not self.hidden:
                yield raw[at:start], False
            if start == len(raw):
                return
            tag = TAG.match(raw, start)
            if tag is not None:
                at = tag.end()
                before = self.hidden
                self._step(tag)
                if not (before or self.hidden):
                    yield " ".join(tag.group().split()), True
            elif _NAMED.match(raw, start):  # it goes on into whatever the page holds next
                self._element(_ENDLESS, raw[start:], hides=True)
                return
            else:
                at = self._skip(raw, start)

    def _resume(self, raw: str) -> int:
        """Where reading goes on: behind the end of a comment that an earlier piece left open."""
        return self._comment(raw, 0) if self._in_comment else 0

    def _comment(self, raw: str, start: int) -> int:
        """Behind the end of a comment; one that does not end hides what follows."""
        end = COMMENT_END.search(raw, start)
        self._in_comment = end is None
        return end.end() if end else len(raw)

    def _skip(self, raw: str, start: int) -> int:
        """Behind a comment, or a declaration, an instruction or the like: to HTML those end at the first `>`."""
        if raw.startswith("<!--", start) and not raw.startswith((">", "->"), start + 4):
            return self._comment(raw, start + 4)
        end = raw.find(">", start + 2)
        foreign = raw.startswith("<![CDATA[", start) and any(e.name in FOREIGN for e in self.open)
        if end < 0 or foreign:
            self._element(_ENDLESS, raw[start:], hides=True)
            return len(raw)
        return end + 1

    def _step(self, tag: re.Match[str]) -> None:
        name = tag["name"].encode().lower().decode()  # ASCII's letters alone
        if not tag["end"] and (name in SPECIAL or name == "hr"):  # what may end a paragraph before its end
            self.open = [element for element in self.open if element.name != "p" or element.number]
        if tag["end"]:
            self._close(name)
        elif name not in VOID:
            hides = name in UNSEEN or _HIDING.search(tag["rest"]) is not None
            self._element(name, " ".join(tag.group().split()), hides=hides)

    def _element(self, name: str, written: str, *, hides: bool) -> None:
        """Open an element that a tag begins."""
        if len(self.open) >= MAX_OPEN:
            raise UnreadableError(f"more than {MAX_OPEN} HTML elements are open")
        self._count += 1
        if hides:
            self.unclosed.add(self._count)
        self._push(name, written, self._count, hides and self._count not in self._shown)

    def _push(self, name: str, written: str, number: int, hides: bool) -> None:
        around = blake2b(f"{self.around} {written}".encode(), digest_size=8).hexdigest()
        hidden = hides or bool(self.open and self.open[-1].hidden)
        self.open.append(_Open(name, written, number, hides, around, hidden))

    def _close(self, name: str) -> None:
        """Close the nearest element of that name, if the end tag reaches it."""
        for index in range(len(self.open) - 1, -1, -1):
            element = self.open[index]
            if element.name == name:
                self.unclosed.discard(element.number)
                above = self.open[index + 1 :]
                self._keep(index, [e for e in above if e.name in LASTING or name in RAW])
                return
            if element.name == _ENDLESS or (
                element.name in SPECIAL and not (name in _FREE and element.name in IMPLIED)
            ):
                return

    def _keep(self, depth: int, rest: list[_Open]) -> None:
        """Close all above `depth` but `rest`."""
        del self.open[depth:]
        for element in rest:
            self._push(element.name, element.written, element.number, element.hides)
