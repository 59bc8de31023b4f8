"""Nothing from outside gets out of the place it is put in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gatekeeper.report.escape import (
    code_span,
    command_data,
    command_property,
    cut,
    log_text,
    markdown_text,
    one_line,
    whole,
)
from gatekeeper.report.github import command
from report.verdicts import NASTY, hostile

RECORDED = json.loads((Path(__file__).parent / "data" / "actions_core.json").read_text(encoding="utf-8"))
GFM = MarkdownIt("gfm-like", {"linkify": False, "html": True})
COMMAND = re.compile(r"^\s*::")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain Zürich 日本", "plain Zürich 日本"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31m\x9b\x7f", r"\x1b[31m\x9b\x7f"),
        ("\u202egnp\u2028\u2066", r"\u202egnp\u2028\u2066"),
        ("\udc80\U000e0001", r"\udc80\U000e0001"),
        ("wide\u3000and\u00a0hard blanks", "wide\u3000and\u00a0hard blanks"),
    ],
)
def test_one_line_shows_what_is_not_seen(text: str, told: str) -> None:
    assert one_line(text) == told


@given(hostile)
def test_one_line_is_one_line_that_any_stream_takes(text: str) -> None:
    safe = one_line(text)
    assert len(safe.splitlines()) <= 1
    assert not re.search(
        r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", safe
    )
    assert one_line(safe) == safe
    safe.encode("utf-8")


def test_one_line_keeps_what_it_is_told_to() -> None:
    assert one_line("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@given(hostile)
def test_whole_text_can_be_encoded(text: str) -> None:
    whole(text).encode("utf-8")


def test_cut() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 5) == "abcd…"


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: repr(case["printed"])[:40])
def test_commands_are_what_githubs_toolkit_prints(case: dict[str, str]) -> None:
    line = str(case["line"]) if case["line"] else ""
    properties = {"title": case["title"], "file": case["file"], "line": line}
    assert command(case["kind"], properties, case["message"]) + "\n" == case["printed"]


@given(hostile)
def test_a_command_reads_back_what_was_put_in(text: str) -> None:
    made = command("error", {"file": text, "title": "t"}, text)
    assert "\n" not in made
    assert "\r" not in made
    name, properties, data = _parsed(made)
    assert (name, data) == ("error", text)
    assert properties == ({"file": text, "title": "t"} if text else {"title": "t"})


def _parsed(line: str) -> tuple[str, dict[str, str], str]:
    """As the runner reads a command: up to the second `::`, split at commas, `%25` undone last."""
    info, data = line.removeprefix("::").split("::", 1)
    name, _, rest = info.partition(" ")
    pairs = (pair.split("=", 1) for pair in rest.split(",") if pair)
    undo = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")]

    def plain(text: str, marks: list[tuple[str, str]]) -> str:
        for mark, char in marks:
            text = text.replace(mark, char)
        return text

    return name, {key: plain(value, undo) for key, value in pairs}, plain(data, [*undo[:2], undo[4]])


@given(hostile)
def test_a_line_of_a_log_is_no_command(text: str) -> None:
    safe = log_text(text)
    assert not COMMAND.match(safe)
    assert "##[" not in safe
    assert len(safe.splitlines()) <= 1


def test_a_line_of_a_log_shows_what_it_broke() -> None:
    assert log_text("::error::x ##[y]") == r"\x3a:error::x \x23#[y]"
    assert log_text("a::b # [c]") == "a::b # [c]"
    assert (command_data("50%\r\n"), command_property("a:b,c")) == ("50%25%0D%0A", "a%3Ab%2Cc")


def _tokens(markdown: str) -> list[tuple[str, str]]:
    """Types and texts of everything inline, wherever it stands."""
    return [(t.type, t.content) for block in GFM.parse(markdown) for t in block.children or ()]


def _as_code(text: str) -> str:
    return cut(one_line(cut(text)).replace("##[", r"\x23#[")).replace("|", r"\x7c").strip()


def _blocks(markdown: str) -> list[str]:
    return [block.type for block in GFM.parse(markdown)]


@given(hostile)
def test_a_code_span_is_all_code(text: str) -> None:
    paragraph = _tokens(f"x {code_span(text)} y")
    assert [kind for kind, _ in paragraph] == ["text", "code_inline", "text"]
    assert paragraph[1][1].strip() == _as_code(text)


@given(hostile, hostile)
def test_a_code_span_stays_in_its_cell(one: str, two: str) -> None:
    table = f"| a | b |\n| - | - |\n| {code_span(one)} | {code_span(two)} |\n"
    cells = [block for block in GFM.parse(table) if block.type == "inline"]
    assert [[t.type for t in cell.children or ()] for cell in cells[2:]] == [["code_inline"], ["code_inline"]]


@given(hostile)
def test_a_sentence_is_plain_words_and_code(text: str) -> None:
    sentence = markdown_text(text)
    assert _blocks(f"Next: {sentence}") == ["paragraph_open", "inline", "paragraph_close"]
    for kind, content in _tokens(f"Next: {sentence}"):
        assert kind in ("text", "code_inline")
        if kind == "text":
            assert not re.search(r"[@#<>&\[\]_*~`$\\|/]|www\.\w|:\w+:|GH-\d|[0-9a-f]{7}", content), content


@given(hostile, hostile)
def test_a_sentence_stays_in_its_cell(one: str, two: str) -> None:
    table = f"| a | b |\n| - | - |\n| {markdown_text(one)} | {markdown_text(two)} |\n"
    cells = [block for block in GFM.parse(table) if block.type == "inline"]
    assert len(cells) == 4
    assert {t.type for cell in cells for t in cell.children or ()} <= {"text", "code_inline"}


@given(st.text(alphabet="abc", min_size=1), st.sampled_from(NASTY))
def test_a_sentence_says_all_that_was_said(word: str, text: str) -> None:
    """But for blanks, quotes as messages use them, and the bar that no cell can hold."""
    said = "".join(content for _, content in _tokens("x " + markdown_text(f"{word} {text}")))
    want = _as_code(f"{word} {text}")
    blanks = re.compile(r"[\s`]")
    assert blanks.sub("", said) == "x" + blanks.sub("", want)


def test_messages_read_well() -> None:
    assert markdown_text("'src/a.py' is outside, see `authority.paths` (GK141).") == (
        "'`src/a.py`' is outside, see `authority.paths` (`GK141`)."
    )
