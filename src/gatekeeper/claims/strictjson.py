"""JSON as claims are read and written: one meaning for a text, and one text for a value.

Reading is bounded in size, depth and digits, and refuses what readers understand differently:
duplicate keys, NaN, lone surrogates, numbers beyond a double's range. Writing gives back the
number that was read as it stood, for a signature is over the signer's own spelling: Python
says `1e-07` where JavaScript says `1e-7`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 64 * 1024
"""Bytes of the largest text that is read."""

DEEPEST = 32
"""How many lists and objects may stand inside each other."""

_MOST_DIGITS = 4000  # below the limit that Python itself sets, in both directions
_SHOWN = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
# A string that never ends runs to the end of the text: every character is looked at once.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_quote = json.JSONEncoder(ensure_ascii=False).encode


class UnreadableError(ValueError):
    """Why a text is not what it should be, in one plain line that calls the text "it"."""


class Literal(float):
    """A number that Python would write otherwise than it stands in the text: `1e-7`, `-0`, `1.50`.

    `text` is how it stood. It is a float in every other respect, and finite.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """The number that `text`, a JSON number, stands for. Raises ValueError for other text."""
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        """What a copy is made from, so that it keeps the text."""
        return (self.text,)


def read_object(data: bytes) -> dict[str, Any]:
    """The JSON object that `data` is. Raises `UnreadableError`, whatever the bytes, and nothing else."""
    if len(data) > LARGEST:
        raise UnreadableError(f"it is larger than {LARGEST // 1024} KiB")
    try:
        text = data.decode()
    except UnicodeDecodeError as why:
        raise UnreadableError(f"it is not UTF-8 (byte {why.start})") from None
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as why:
        raise UnreadableError(f"it is not JSON (line {why.lineno}, column {why.colno})") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"it is {kind(value)}, not a JSON object")
    if "\\u" in text and any(map(_SURROGATE.search, _texts(value))):
        raise UnreadableError("a text in it holds half a character (a lone surrogate)")
    return value


def _check_depth(text: str) -> None:
    """Refuse what nests too deep, before a parser that recurses sees it."""
    depth = 0
    for mark in _MARK.findall(text):
        depth += (mark in "[{") - (mark in "]}")
        if depth > DEEPEST:
            raise UnreadableError(f"its JSON nests deeper than {DEEPEST}")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise UnreadableError(f"the key {quoted(name)} stands in it twice")
            seen.add(name)
    return fields


def _integer(text: str) -> int | Literal:
    if len(text) > _MOST_DIGITS:
        raise UnreadableError("a number in it has too many digits")
    return Literal(text) if text == "-0" else int(text)


def _real(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise UnreadableError("a number in it is too large")
    return value if repr(value) == text else Literal(text)


def _constant(name: str) -> None:
    raise UnreadableError(f"it holds {name}, which is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_real, parse_constant=_constant
)


def _texts(value: object) -> Iterator[str]:
    """Every key and text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def dump_lines(fields: Mapping[str, object]) -> str:
    """A JSON object, a field a line in the order given, with a newline at its end. Raises as `dump` does."""
    lines = (f"  {_key(name)}: {dump(value, ordered=False)}" for name, value in fields.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def dump(value: object, *, ordered: bool) -> str:
    """A JSON value on one line without spaces; with `ordered`, keys sorted by code point.

    Raises ValueError or TypeError for what JSON can't hold. Lone surrogates stay: encoding them fails.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("JSON has no NaN and no infinity")
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(dump(item, ordered=ordered) for item in value) + "]"
    if isinstance(value, Mapping):
        names = sorted(value) if ordered else value
        return "{" + ",".join(f"{_key(name)}:{dump(value[name], ordered=ordered)}" for name in names) + "}"
    raise TypeError(f"JSON has no {type(value).__name__}")


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError("the keys of a JSON object are texts")
    return _quote(name)


def kind(value: object) -> str:
    """What a JSON value is, for a message."""
    kinds = {str: "a text", bool: "true or false", int: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null" if value is None else "a number with a fraction or an exponent")


def quoted(text: str) -> str:
    """Hostile text for a message: between quotes, cut short, everything unprintable escaped."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
