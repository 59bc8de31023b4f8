"""The id that a task file's name says, without reading the file."""

from __future__ import annotations

import re

from gatekeeper.text import shown

_NAMED = re.compile(rb"T-[0-9]{8}-[0-9a-f]{8}(?=[-.]|$)")


def id_from_name(name: bytes) -> str:
    """The id that a file's name (or path) begins with, else the name without `.md`.

    Bytes that are no UTF-8 come as escapes, so that the id can be shown.
    """
    stem = name.rpartition(b"/")[2].removesuffix(b".md")
    found = _NAMED.match(stem)
    return shown(found.group() if found else stem)
