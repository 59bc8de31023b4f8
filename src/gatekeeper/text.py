"""Values from outside, named in a message of ours."""

from __future__ import annotations

QUOTED = 80
"""Characters of a value that a message repeats."""


def shown(path: bytes) -> str:
    r"""A path as text: UTF-8 as it is, every other byte as `\xNN`. Reporters escape the rest for where it goes."""
    return path.decode("utf-8", "backslashreplace")


def quoted(value: str) -> str:
    """A value as a message names it: between quotes, on one line, and cut where it is long."""
    cut = value if len(value) <= QUOTED else value[: QUOTED - 1] + "…"
    return "'" + "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in cut) + "'"


def listed(values: list[str], most: int = 5) -> str:
    """Some of several values, and how many more there are."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more
