"""Front matter and YAML documents, read strictly: one text, one meaning, or an error with its line.

YAML's own readers guess types, follow aliases and merge keys, and let the last of two equal
keys win: each is a way to show a reviewer one header and the gate another. Here PyYAML's event
stream is turned into three small nodes of our own, so that a scalar is its text and nothing
else, and what could be read in two ways is refused. Source of the rules: CONTRACT 2, "Front
matter is read strictly". Lines count from 1, in the file.
"""

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple, TypeAlias

import yaml
from frontmatter.default_handlers import BaseHandler
from yaml.resolver import Resolver

from gatekeeper.model import Defect
from gatekeeper.text import quoted

MAX_FILE = 512 * 1024
"""Bytes of the largest YAML file that is read; a manifest of twenty thousand tasks is smaller."""
MAX_DOCUMENT = 256 * 1024
"""Bytes of the largest file with front matter that is read."""
MAX_HEADER = 64 * 1024
"""Characters of the longest front matter that is read."""
MAX_DEPTH = 32
"""How deep lists and mappings may be nested."""

UNREADABLE = "GK201"
DUPLICATE = "GK202"

# What a value, a key or a list takes at least one of; and how many values' time a file takes besides.
_SEPARATORS = b",:?-[{\n"
_PER_FILE = 60

_CLOSING = re.compile(rb"\n---[ \t]*\r?(?:\n|\Z)")
_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
# YAML 1.1 ends a line at NEL, U+2028 and U+2029 and skips a BOM at the start of any line: a
# second key could hide behind what an editor shows as one line.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]|\r(?!\n)"
)
# What an escape between double quotes can smuggle in, and no path, ref or report can hold.
_UNHOLDABLE = re.compile("[\x00\ud800-\udfff]")
# libyaml compares each %TAG with all before it, and nothing here needs a directive.
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNQUOTED = re.compile(r"(?:^|[-:,\[{]) *([*@%`&!])")
_TRUTH = {"true": True, "false": False}
_MEND = "Mend the YAML; every value that holds more than plain words is safe between quotes."


class Text(NamedTuple):
    """A scalar: its text as YAML folds it, whether it stood unquoted, and its line."""

    value: str
    plain: bool
    line: int


class List(NamedTuple):
    """A list, in block or in flow style."""

    items: "tuple[Node, ...]"
    line: int


class Map(NamedTuple):
    """A mapping: its keys, whose texts all differ, each with its value, in the file's order.

    A look-up goes through the keys: headers have a dozen, and hostile ones are asked for as few.
    """

    items: "tuple[tuple[Text, Node], ...]"
    line: int

    def get(self, key: str) -> "Node | None":
        """The value at a key, None where the key is absent."""
        return next((value for name, value in self.items if name.value == key), None)

    def line_of(self, key: str) -> int:
        """The line of a key, or the mapping's own where the key is absent."""
        return next((name.line for name, _ in self.items if name.value == key), self.line)


Node: TypeAlias = Text | List | Map


class Document(NamedTuple):
    """A file with front matter. `body` has LF line ends, its first line is `body_line`."""

    header: Map
    body: str
    body_line: int


class HeaderError(ValueError):
    """What makes a header unreadable; `defect` is GK201 or GK202, with its line."""

    def __init__(self, code: str, message: str, line: int | None = None, help_: str | None = None) -> None:
        super().__init__(message)
        self.defect = Defect(code, message, line, help_)


class StrictHandler(BaseHandler):
    """python-frontmatter's handler interface, without its leniency.

    The library's own `parse` strips the text and takes a missing fence for "no header", so
    `split` and `load` are called directly; both raise `HeaderError`.
    """

    FM_BOUNDARY = _FENCE
    START_DELIMITER = END_DELIMITER = "---"

    def split(self, text: str) -> tuple[str, str]:
        """The header between the first line and the next one that is `---`, and all after that."""
        opening = _FENCE.match(text)
        if opening is None:
            raise _missing_fence(text)
        start = opening.end() + 1
        closing = _FENCE.search(text, start)
        if closing is None:
            raise HeaderError(
                UNREADABLE,
                "the front matter that begins with `---` has no closing `---` line",
                1,
                "Put a line of three dashes behind the last field.",
            )
        return text[start : closing.start()], text[closing.end() + 1 :]

    def load(self, fm: str) -> Map:  # type: ignore[override]  # our nodes, not a dict of guesses
        """The mapping of a header whose first line is the file's second."""
        if len(fm) > MAX_HEADER:
            raise HeaderError(UNREADABLE, f"the front matter is longer than {MAX_HEADER // 1024} KiB", 1)
        return _load(fm, 2, fenced=True)


def weight(data: bytes) -> int:
    """About how many values' time it takes to read a file's front matter: never fewer than it holds."""
    closing = _CLOSING.search(data, 3)
    head = data[: closing.start() if closing else 0]
    if len(head) > 4 * MAX_HEADER:  # too long for any reader
        return _PER_FILE
    return _PER_FILE + sum(map(head.count, _SEPARATORS))


def decode(data: bytes, most: int = MAX_FILE) -> str:
    """A file's bytes as text, without a byte order mark. Raises HeaderError (size, not UTF-8)."""
    if len(data) > most:
        raise HeaderError(UNREADABLE, f"the file is larger than {most // 1024} KiB", 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        message = f"byte 0x{data[err.start]:02x} is not UTF-8"
        raise HeaderError(UNREADABLE, message, line, "Save the file as UTF-8.") from None
    return text.removeprefix("\ufeff")


def read_document(data: bytes) -> Document:
    """A Markdown file's header and body. Raises HeaderError."""
    text = decode(data, MAX_DOCUMENT)
    handler = StrictHandler()
    head, body = handler.split(text)
    header = handler.load(head)
    body_line = head.count("\n") + 3
    return Document(header, body.replace("\r\n", "\n"), body_line)


def read_mapping(text: str, first_line: int = 1) -> Map:
    """A whole YAML document that is one mapping (policy, manifest). Raises HeaderError.

    `first_line` is the file's line on which `text` begins.
    """
    if len(text) > MAX_FILE:
        raise HeaderError(UNREADABLE, f"the file is larger than {MAX_FILE // 1024} KiB", first_line)
    return _load(text.removeprefix("\ufeff"), first_line, fenced=False)


def described(node: Node) -> str:
    """What a value is, for a message that goes on from its name: "is 'x'", "is a list"."""
    if is_null(node):
        return "is empty"
    if isinstance(node, Text):
        return f"is {quoted(node.value)}"
    return "is a list" if isinstance(node, List) else "is a mapping"


def canonical(node: Node) -> str:
    """One text for each meaning: style, quotes and the order of keys aside; `1` is not `"1"`."""
    return json.dumps(_plainly(node), separators=(",", ":"))


def is_null(node: Node | None) -> bool:
    """Nothing: an absent value, or an unquoted one that YAML reads as null (``, `~`, `null`)."""
    return node is None or (isinstance(node, Text) and _kind(node) == "null")


def text_of(node: Node | None) -> str | None:
    """The text of a scalar, whatever type YAML would give it; None for null, lists and mappings."""
    return node.value if isinstance(node, Text) and not is_null(node) else None


def date_of(node: Node | None) -> date | None:
    """A day that exists, written `YYYY-MM-DD`; None for all else."""
    value = text_of(node)
    if value is None or _DAY.fullmatch(value) is None:
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def whole_of(node: Node | None) -> int | None:
    """An unquoted whole number in decimal digits without leading zeros; None for all else."""
    if not isinstance(node, Text) or not node.plain or _WHOLE.fullmatch(node.value) is None:
        return None
    return int(node.value)


def truth_of(node: Node | None) -> bool | None:
    """An unquoted `true` or `false`; None for all else, `yes` and `on` too."""
    return _TRUTH.get(node.value) if isinstance(node, Text) and node.plain else None


def texts_of(node: Node | None) -> tuple[str, ...] | None:
    """A list of texts; null is the empty list, all else None."""
    if is_null(node):
        return ()
    if not isinstance(node, List):
        return None
    found = [text_of(item) for item in node.items]
    return None if None in found else tuple(value for value in found if value is not None)


def _missing_fence(text: str) -> HeaderError:
    if not text.strip():
        return HeaderError(UNREADABLE, "the file is empty", 1, "Begin with a `---` line and the fields.")
    first = text.split("\n", 1)[0].rstrip("\r")
    message = f"the first line is {quoted(first)} and not `---`: there is no front matter"
    return HeaderError(UNREADABLE, message, 1, "Begin with a `---` line, the fields, and another `---` line.")


def _load(text: str, first_line: int, *, fenced: bool) -> Map:
    _refuse_hidden(text, first_line)
    try:
        return _Composer(text, first_line, fenced=fenced).mapping()
    except yaml.YAMLError as err:
        raise _yaml_error(err, text, first_line) from None


def _refuse_hidden(text: str, first_line: int) -> None:
    found = _FORBIDDEN.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + first_line
        message = f"the character U+{ord(found.group()):04X} may not stand in YAML that is read strictly"
        raise HeaderError(UNREADABLE, message, line, "Take it out, or write it as an escape between quotes.")
    found = _DIRECTIVE.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + first_line
        raise HeaderError(UNREADABLE, "a line begins with `%`, as YAML's directives do", line, _MEND)


class _Composer:
    """Events → nodes, one pass, refusing what has more than one meaning."""

    def __init__(self, text: str, first_line: int, *, fenced: bool) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.events: Iterator[yaml.Event] = yaml.parse(text, Loader=loader)
        self.first_line = first_line
        self.fenced = fenced

    def mapping(self) -> Map:
        """The document's one mapping."""
        next(self.events)  # the start of the stream
        start = next(self.events)
        if isinstance(start, yaml.StreamEndEvent):
            raise HeaderError(UNREADABLE, "there are no fields here", self.first_line, _MEND)
        if self.fenced and getattr(start, "explicit", False):
            raise self.error(start, "a second document begins here: `---` stands before other text")
        root = self.node(next(self.events), 0)
        if not isinstance(root, Map):
            kind = "a list" if isinstance(root, List) else "a single text"
            raise HeaderError(UNREADABLE, f"this is {kind} and not a mapping of fields", root.line, _MEND)
        end = next(self.events)
        if getattr(end, "explicit", False):
            raise self.error(end, "a line of `...` ends the document")
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self.error(after, "a second document begins here")
        return root

    def node(self, event: yaml.Event, depth: int) -> Node:
        """The node that begins with an event."""
        if depth > MAX_DEPTH:
            raise self.error(event, f"lists and mappings are nested more than {MAX_DEPTH} deep")
        self.refuse_properties(event)
        line = self.line(event)
        if isinstance(event, yaml.ScalarEvent):
            return self.text(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return List(tuple(self.items(depth)), line)
        return self.fields(line, depth)

    def text(self, event: yaml.ScalarEvent) -> Text:
        """A scalar's text, unless it holds what no name can."""
        if _UNHOLDABLE.search(event.value):
            raise self.error(event, "an escape stands for NUL or for half a character", "Take it out.")
        return Text(event.value, not event.style, self.line(event))

    def items(self, depth: int) -> Iterator[Node]:
        """A list's nodes up to its end."""
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self.node(event, depth + 1)

    def fields(self, line: int, depth: int) -> Map:
        """A mapping's keys and values up to its end."""
        found: dict[str, tuple[Text, Node]] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.key(event)
            if key.value in found:
                first = found[key.value][0].line
                message = f"the key {quoted(key.value)} stands twice, first on line {first}"
                raise HeaderError(DUPLICATE, message, key.line, "Keep one of the two.")
            found[key.value] = (key, self.node(next(self.events), depth + 1))
        return Map(tuple(found.values()), line)

    def key(self, event: yaml.Event) -> Text:
        """A key, which must be a text that holds something and is no merge key."""
        self.refuse_properties(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise self.error(event, "a key is a list or a mapping; it must be one word")
        key = self.text(event)
        if not key.value or is_null(key):
            raise self.error(event, "a key is empty")
        if key.value == "<<":
            raise self.error(event, "the merge key `<<` may not be used", "Write the fields out.")
        return key

    def refuse_properties(self, event: yaml.Event) -> None:
        """No alias, anchor or tag: each can say elsewhere what a line means."""
        if isinstance(event, yaml.AliasEvent):
            shown = quoted(f"*{event.anchor}")
            help_ = f"If it is a pattern, put it between quotes; if it is YAML's alias {shown}, write it out."
            raise self.error(event, f"{shown} is an alias in YAML, and aliases may not be used", help_)
        if getattr(event, "anchor", None) is not None:
            shown = quoted(f"&{event.anchor}")  # type: ignore[attr-defined]
            raise self.error(event, f"the anchor {shown} may not be used", "Take it out, or quote the value.")
        if getattr(event, "tag", None) is not None:
            shown = quoted(event.tag)  # type: ignore[attr-defined]
            raise self.error(event, f"the tag {shown} may not be used", "Take it out, or quote the value.")

    def line(self, event: yaml.Event) -> int:
        """An event's line in the file."""
        mark = event.start_mark
        return self.first_line if mark is None else mark.line + self.first_line

    def error(self, event: yaml.Event, message: str, help_: str = _MEND) -> HeaderError:
        """A GK201 at an event."""
        return HeaderError(UNREADABLE, message, self.line(event), help_)


def _yaml_error(err: yaml.YAMLError, text: str, first_line: int) -> HeaderError:
    """PyYAML's error as one plain line, with the next step where the usual slip is seen."""
    problem_mark, context_mark = getattr(err, "problem_mark", None), getattr(err, "context_mark", None)
    lines = text.split("\n")
    index = 0 if problem_mark is None else int(problem_mark.line)
    if context_mark is not None and index >= len(lines) - 1:
        index = int(context_mark.line)  # what is never closed is found at the end, and mended where it begins
    line = lines[index] if index < len(lines) else ""
    problem = str(getattr(err, "problem", None) or "it can't be parsed")
    shown = quoted(problem)[1:-1]
    return HeaderError(UNREADABLE, f"not YAML: {shown}", index + first_line, _advice(problem, line))


def _advice(problem: str, line: str) -> str:
    slip = _UNQUOTED.search(line[:200])
    if slip is not None:
        return f"A value that begins with {slip.group(1)} must be quoted: write '…' around it."
    if "mapping values" in problem:
        return "A value that holds `: ` must be quoted: write '…' around it."
    if "\t" in line:
        return "Indent with blanks: YAML takes no tab there."
    return _MEND


def _kind(node: Text) -> str:
    """YAML 1.1's type of a scalar: `str`, `int`, `float`, `bool`, `null` or `timestamp`."""
    if not node.plain:
        return "str"
    for tag, pattern in Resolver.yaml_implicit_resolvers.get(node.value[:1], ()):
        if pattern.match(node.value):
            kind = str(tag).rsplit(":", 1)[-1]
            return "str" if kind in ("merge", "value") else kind
    return "str"


def _plainly(node: Node) -> object:
    if isinstance(node, Text):
        kind = _kind(node)
        return [kind, "" if kind == "null" else node.value]
    if isinstance(node, List):
        return [_plainly(item) for item in node.items]
    pairs = {f"{_kind(key)}:{key.value}": _plainly(value) for key, value in node.items}
    return dict(sorted(pairs.items()))
