"""The kinds of value that a setting can hold: how each is read, and how JSON Schema says the same.

They read the strict YAML nodes of `gatekeeper.header`. Scalars mean what YAML 1.2's core schema
says, and more narrowly: `true` and `false` alone are switches, whole numbers are decimal, and
text that YAML would read as something else wants quotes. `gatekeeper.settings` puts kinds
together to tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gatekeeper import header
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from gatekeeper.header import Node

T = TypeVar("T")
Schema = dict[str, Any]

OTHER = re.compile(
    r"(true|True|TRUE|false|False|FALSE)"
    r"|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
"""Plain scalars that YAML 1.2's core schema takes for something else than text."""


class UnfitError(Exception):
    """A node that is no value of its kind.

    `what` goes on from the setting's name ("takes true or false, not 'yes'"), `hint` is how to
    mend it, `line` counts from 1 and `name` is the dotted name of the setting, as far as known.
    """

    def __init__(self, line: int, what: str, hint: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what
        self.hint = hint
        self.name = ""

    def inside(self, name: str) -> UnfitError:
        """The same, seen from the mapping that holds it under `name`."""
        self.name = f"{name}.{self.name}" if self.name else name
        return self


def told(node: Node) -> str:
    """A node as a message speaks of it."""
    if isinstance(node, header.Map):
        return "a mapping"
    if isinstance(node, header.List):
        return "a list" if node.items else "an empty list"
    return "nothing" if header.is_null(node) else quoted(node.value)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was most likely meant to be, if any is near."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for errors

    return next(iter(get_close_matches(word[:100], list(known), 1)), None)


class Kind(Generic[T]):
    """One kind of value. `wanted` is what goes after "takes", and stands in the docs."""

    wanted: str = ""

    def read(self, node: Node) -> T:
        """The value that the node holds. Raises `UnfitError`."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """The same in JSON Schema (draft 2020-12), as far as that can say it."""
        raise NotImplementedError

    def plain(self, value: T) -> object:
        """The value as JSON has it."""
        return value

    def unfit(self, node: Node, hint: str = "") -> UnfitError:
        """What to raise where the node is something else."""
        return UnfitError(node.line, f"takes {self.wanted}, not {told(node)}", hint or f"write {self.wanted}")


class Flag(Kind[bool]):
    """`true` or `false`, unquoted and in lower case."""

    wanted = "true or false"

    def read(self, node: Node) -> bool:
        """See `Kind.read`."""
        if isinstance(node, header.Text) and node.plain and node.value in ("true", "false"):
            return node.value == "true"
        raise self.unfit(node, "write true or false, in lower case and without quotes")

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "boolean"}


class Whole(Kind[int]):
    """A whole number in decimal digits, both bounds included."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.wanted = f"a whole number from {low} to {high}" if low != high else f"the number {low}"

    def read(self, node: Node) -> int:
        """See `Kind.read`."""
        if isinstance(node, header.Text) and node.plain and re.fullmatch(r"0|[1-9][0-9]{0,9}", node.value):
            number = int(node.value)
            if self.low <= number <= self.high:
                return number
        between_quotes = isinstance(node, header.Text) and not node.plain
        raise self.unfit(node, f"write {self.wanted}, without quotes" if between_quotes else "")

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        if self.low == self.high:
            return {"const": self.low}
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class Words(Kind[str]):
    """Text of one line that matches `pattern` as a whole and holds no control characters.

    `problem`, where given, says of a text why it will not do, or None.
    """

    def __init__(
        self, wanted: str, pattern: str = r"\S(.*\S)?", problem: Callable[[str], str | None] | None = None
    ) -> None:
        self.wanted = wanted
        self.pattern = pattern
        self.problem = problem

    def read(self, node: Node) -> str:
        """See `Kind.read`."""
        if not isinstance(node, header.Text) or header.is_null(node):
            raise self.unfit(node)
        if node.plain and OTHER.fullmatch(node.value):
            raise self.unfit(node, "put it in quotes, so that YAML reads it as text")
        if self.problem and (why := self.problem(node.value)):
            raise UnfitError(node.line, f"holds {quoted(node.value)}: {why}", f"write {self.wanted}")
        if re.search(r"[\x00-\x1f\x7f]", node.value) or not re.fullmatch(self.pattern, node.value):
            raise self.unfit(node)
        return node.value

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "string", "pattern": rf"^(?![\s\S]*[\u0000-\u001f\u007f])(?:{self.pattern})$"}


class OneOf(Kind[str]):
    """One word of a closed set."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.wanted = " or ".join(words) if len(words) <= 2 else "one of " + ", ".join(words)  # noqa: PLR2004

    def read(self, node: Node) -> str:
        """See `Kind.read`."""
        if isinstance(node, header.Text) and node.value in self.words:
            return node.value
        near = nearest(node.value, self.words) if isinstance(node, header.Text) else None
        raise self.unfit(node, f"did you mean {near}?" if near else "")

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"enum": list(self.words)} if len(self.words) > 1 else {"const": self.words[0]}


class Day(Kind[date]):
    """A date of the calendar, as YYYY-MM-DD."""

    wanted = "a date (YYYY-MM-DD)"

    def read(self, node: Node) -> date:
        """See `Kind.read`."""
        if isinstance(node, header.Text) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", node.value):
            try:
                return date.fromisoformat(node.value)
            except ValueError:
                raise self.unfit(node, "write a date that the calendar has") from None
        raise self.unfit(node)

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "string", "format": "date", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}

    def plain(self, value: date) -> str:
        """See `Kind.plain`."""
        return value.isoformat()


class Maybe(Kind[T | None]):
    """Another kind, or `null`."""

    def __init__(self, kind: Kind[T]) -> None:
        self.kind = kind
        self.wanted = f"{kind.wanted}, or null"

    def read(self, node: Node) -> T | None:
        """See `Kind.read`."""
        return None if header.is_null(node) else self.kind.read(node)

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"anyOf": [self.kind.schema(), {"type": "null"}]}

    def plain(self, value: T | None) -> object:
        """See `Kind.plain`."""
        return None if value is None else self.kind.plain(value)


class ListOf(Kind[tuple[T, ...]]):
    """A list of values of one kind, at least `least` of them."""

    def __init__(self, kind: Kind[T], wanted: str, least: int = 0) -> None:
        self.kind, self.least = kind, least
        self.wanted = f"a list of {wanted}" + (", at least one" if least else "")

    def read(self, node: Node) -> tuple[T, ...]:
        """See `Kind.read`."""
        if not isinstance(node, header.List) or len(node.items) < self.least:
            raise self.unfit(node)
        return tuple(self.kind.read(item) for item in node.items)

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        return {"type": "array", "items": self.kind.schema()} | (
            {"minItems": self.least} if self.least else {}
        )

    def plain(self, value: tuple[T, ...]) -> list[object]:
        """See `Kind.plain`."""
        return [self.kind.plain(item) for item in value]


class Named(Kind[Mapping[str, T]]):
    """A mapping from names of one kind to values of another."""

    def __init__(self, names: Words, kind: Kind[T], wanted: str) -> None:
        self.names, self.kind = names, kind
        self.wanted = f"a mapping of {wanted}"

    def read(self, node: Node) -> Mapping[str, T]:
        """See `Kind.read`."""
        if not isinstance(node, header.Map):
            raise self.unfit(node)
        found: dict[str, T] = {}
        for key, value in node.items:
            name = self.names.read(key)
            try:
                found[name] = self.kind.read(value)
            except UnfitError as why:
                raise why.inside(name) from None
        return found

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        names = {k: v for k, v in self.names.schema().items() if k != "type"}
        return {"type": "object", "propertyNames": names, "additionalProperties": self.kind.schema()}

    def plain(self, value: Mapping[str, T]) -> dict[str, object]:
        """See `Kind.plain`."""
        return {name: self.kind.plain(item) for name, item in value.items()}
