"""Whether a task's text plainly still holds what it held: what can be told without reading Markdown.

Reading Markdown takes longer than all else that a check does, and the usual edit ticks a box and
appends the test's output. Where this module says no, `markdown.ask_lost` looks properly.
"""

from __future__ import annotations

import re

_NEWLINE = re.compile(r"\r\n?")
_TICK = re.compile(r"^((?:[ \t>]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)+)\[[ xX]\](?=[ \t]|$)", re.MULTILINE)
_HEADING_LAST = re.compile(r"(?:^|\n)#{1,6}[ \t][^\n]*\Z")


def plainly_kept(base_body: str, new_body: str) -> bool:
    """Whether everything that base shows is still shown, as far as no parser is needed to know. False: look properly."""
    base, new = unticked(base_body), unticked(new_body)
    return base == new or only_appended(base, new)


def only_appended(base: str, new: str) -> bool:
    """Whether `new` is `base` with something behind it, so that no parser is needed to know base is all there.

    Markdown is read from the top: what stands behind a blank line changes nothing above it, but for
    a link definition (`]:`) and the end of a comment; footnotes are shown behind all else. Where base
    ends in a comment, as templates do, the comment may give way: outside fences and HTML it shows
    nothing. False means only that a parser has to look.
    """
    if _continues(base.rstrip(" \t\n"), new):
        return True
    before, opening, comment = base.rstrip(" \t\n").rpartition("<!--")
    ends = opening and comment.find("-->") == len(comment) - 3 and not comment.startswith((">", "->"))
    if not ends or not before.endswith("\n") or "--!>" in comment:  # HTML ends a comment there, too
        return False
    plain = "<" not in before and "```" not in before and "~~~" not in before
    return plain and _continues(before.rstrip(" \t\n"), new)


def _continues(kept: str, new: str) -> bool:
    """Whether `new` begins with `kept`, and goes on in a way that does not reach back into it."""
    if not new.startswith(kept) or "[^" in kept or "<!--" in kept.rpartition("-->")[2]:
        return False
    rest = new[len(kept) :]
    if not rest.strip(" \t\n"):
        return True
    first, _, behind = rest.partition("\n")
    blank = not behind.partition("\n")[0].strip(" \t")
    apart = blank or _HEADING_LAST.search(kept, max(0, len(kept) - 1000)) is not None
    return not first.strip(" \t") and apart and "]:" not in rest


def lines(body: str) -> str:
    """A body with LF line ends."""
    return _NEWLINE.sub("\n", body)


def unticked(body: str) -> str:
    """A body with LF line ends and every box of a list item empty."""
    return _TICK.sub(r"\1[ ]", lines(body))
