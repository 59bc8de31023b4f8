"""Text from outside, made harmless for where it goes.

Paths, titles, branches, claims and messages that quote them may hold anything: line breaks that
forge a line of a log, escape sequences for terminals, marks that turn the order of letters
round, workflow commands, Markdown and HTML. Each function here makes text fit for one place.
"""

from __future__ import annotations

import re

LONGEST = 2_000
"""Characters of one text that formats for people show; the JSON report has all of it."""

_LINE_COMMAND = re.compile(r"^(\s*):(?=:)")
_PLAIN_WORD = re.compile(r"\d+|[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_BEFORE = "\"'("
_AFTER = ".,;:!?)\"'"
_PARTS = re.compile(rf"(?<!\S)(?P<before>[{_BEFORE}]*)`(?P<quoted>[^`]+)`(?P<after>[{_AFTER}]*)(?!\S)|\S+")
_HEX = re.compile(r"[0-9a-fA-F]{7,64}")


def whole(text: str) -> str:
    r"""Text that UTF-8 can hold: a lone surrogate becomes `\udNNN`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def cut(text: str, limit: int = LONGEST) -> str:
    """At most `limit` characters, the last an ellipsis where something was cut off."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, keep: str = "") -> str:
    r"""Text on one line with everything that is not seen made visible (`\n`, `\x1b`, `\u202e`).

    That is Unicode's categories C* (control, format, surrogate, private, unassigned) and the
    line and paragraph separators; `keep` names characters to leave alone.
    """
    if text.isprintable():
        return text
    return "".join(ch if ch in keep or _visible(ch) else _escaped(ch) for ch in text)


def _visible(ch: str) -> bool:
    """Whether a character may stand as it is; spaces of all widths may."""
    import unicodedata  # noqa: PLC0415 -- most texts are printable as they are

    return ch.isprintable() or unicodedata.category(ch) == "Zs"


def _escaped(ch: str) -> str:
    """One character as a backslash escape."""
    return ch.encode("unicode_escape").decode("ascii")


def command_data(text: str) -> str:
    """A workflow command's message, escaped as GitHub's own toolkit does (@actions/core)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    """A workflow command's property, escaped as GitHub's own toolkit does (@actions/core)."""
    return command_data(text).replace(":", "%3A").replace(",", "%2C")


def log_text(text: str) -> str:
    r"""Text for a line of an Actions log that is no command.

    The runner takes `::name::` at the start of a line, after blanks, and `##[name]` anywhere in
    it for a command (actions/runner, ActionCommand.cs): the first becomes `\x3a:`, the second
    `\x23#[`.
    """
    return _LINE_COMMAND.sub(r"\1\\x3a", no_log_command(one_line(text)))


def json_text(document: str) -> str:
    r"""JSON that holds no `##[`, should it be printed to a log: the same values, `\u0023` for one `#`."""
    return document.replace("##[", r"#\u0023[")


def no_log_command(text: str) -> str:
    """Text without `##[`, which may begin a command anywhere in a log's line."""
    return text.replace("##[", r"\x23#[")


def code_span(text: str, limit: int = LONGEST) -> str:
    r"""Text as one Markdown code span, fit for a table's cell.

    Nothing in a code span is a link, an image, HTML, emphasis, a mention or a reference. A `|`
    would end the cell whatever stands before it in some readers, so it becomes `\x7c`; `##[` is
    broken as in `log_text`, should the report be printed to a log.
    """
    inert = cut(no_log_command(one_line(cut(text, limit))), limit).replace("|", r"\x7c") or " "
    longest = max((len(run) for run in re.findall("`+", inert)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if inert[0] in "` " or inert[-1] in "` " else ""
    return f"{fence}{pad}{inert}{pad}{fence}"


def markdown_text(text: str, limit: int = LONGEST) -> str:
    """A sentence in Markdown: plain words as they are, every other word as a code span.

    What stands between backticks, as messages quote values, is one code span.

    A plain word is a number, or letters with an inner hyphen or apostrophe, in quotes, brackets
    or punctuation; nothing of Markdown or of GitHub's additions (mentions, references, links,
    emoji, mathematics) can be made of those. It is no start of a line: a number there is a list.
    """
    whole_text = cut(one_line(cut(text, limit)), limit)
    return " ".join(
        _quoted(found) if found["quoted"] else _word(found[0]) for found in _PARTS.finditer(whole_text)
    )


def _quoted(found: re.Match[str]) -> str:
    """A quoted value as a code span, with the brackets and the punctuation around it."""
    return found["before"] + code_span(found["quoted"]) + found["after"]


def _word(word: str) -> str:
    """One word of a sentence, as it is where it is plain; brackets and punctuation stay outside a code span."""
    rest = word.lstrip(_BEFORE)
    core = rest.rstrip(_AFTER)
    if not core:
        return code_span(word)
    inner = core if _PLAIN_WORD.fullmatch(core) and not _HEX.fullmatch(core) else code_span(core)
    return word[: len(word) - len(rest)] + inner + rest[len(core) :]
