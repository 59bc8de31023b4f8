"""The only place that knows what time it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


FIRST, LAST = 1970, 9000
"""The years that a moment may lie in: git's time begins with the first, and the calendar ends with 9999."""


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


def parse_moment(text: str) -> datetime:
    """`--now`'s value: an ISO 8601 date or moment, read as UTC where it names no offset.

    Raises ValueError for anything else, and for what leaves no room to count days from it in either direction.
    """
    if not _ISO.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    if not FIRST <= moment.year <= LAST:
        raise ValueError(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
