"""The anchors of a Markdown file: headings however they are written, and HTML's own."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.mdanchors import UnreadableError, anchors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\n## Two ##\n\n####### seven", {"one", "two"}),
        ("Setext title\n===\n\nOther\n---", {"setext-title", "other"}),
        ("Two\nlines\n===", {"twolines"}),
        ("# One\r\n# One\r\n", {"one", "one-1"}),
        ("# a\n# a\n# a-1\n# a", {"a", "a-1", "a-1-1", "a-2"}),
        ("# The `run()` *method*: what's new?", {"the-run-method-whats-new"}),
        ("# [Linked](x.md) [ref] <https://e.x/y>\n\n[ref]: x", {"linked-ref-httpsexy"}),
        ("# _a_ __b__ a_b ~~c~~", {"a-b-a_b-c"}),
        ("# ![alt](i.png) Title", {"-title"}),
        ("# :rocket: Go 🚀", {"rocket-go-"}),
        ("# a &amp; b &#x41; \\*", {"a--b-a-"}),
        ("# a <b>bold</b><!-- no --> c", {"a-bold-c"}),
        ("> # In a quote\n\n- # In a list", {"in-a-quote", "in-a-list"}),
        ("# Note[^1]\n\n[^1]: text", {"note1"}),
        ("```\n# Fence\n```\n\n    # Code\n\n<!--\n# Comment\n-->\n\n\\# Escaped", set()),
        ("~~~\n# Never closed", set()),
        ("#No blank", set()),
        ("text", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_headings(text: str, expected: set[str]) -> None:
    assert anchors(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<a name="old"></a>', {"old"}),
        ("text <a id='x'/> and <span ID=y class=z>", {"x", "y"}),
        ('<p title="id=\'a\' name=b" data-id="c" id="d">', {"d"}),
        ('<h2 id="by-id">By id</h2>', {"by-id"}),
        ('# A <a name="b"></a>', {"a-", "b"}),
        ('# A<a id="b"></a>', {"a", "b"}),
        ('<a id="a&amp;b">', {"a&b"}),
        ('a <!-- <a id="x"> --> `<a id="y">`\n\n```\n<a id="z">\n```', set()),
        ('<div><!-- <a id="x"> --><a id="y"></div>', {"y"}),
        ('<style>\n<a id="x">\n</style>\n<a id="y">', {"y"}),
        ("</a id=x> <a id> <a id=> <a id=''>", set()),
        ('<div id="x"\n     name="y">', {"x", "y"}),
        ('<td>\n<tr id="x"', set()),
        ("<div><a id=x <b id=y", set()),
    ],
)
def test_html_ids_and_names(text: str, expected: set[str]) -> None:
    assert anchors(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<h1>Title</h1>\n\n# Title", {"title", "title-1"}),
        ("<H2 align='center'>A &amp; <i>b</i></H2>", {"a--b"}),
        ("<h1>\n  <img alt='x'>\n  My title\n</h1>", {"----my-title", "my-title"}),
        ("<h1>\n\nMy **own** `x`\n\n</h1>", {"my-own-x"}),
        ("<h1>Never closed\n\n# Next", {"next"}),
        ("# Outer <h2>inner</h2>", {"outer-inner"}),
        ("<!-- <h1>Comment</h1> -->", set()),
        ("a <h3>b</h3>", {"b"}),
    ],
)
def test_headings_of_html(text: str, expected: set[str]) -> None:
    assert anchors(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: x\n---\n# One", {"one"}),
        ("\ufeff---\r\ntitle: x\r\n--- \r\n# One", {"one"}),
        ("---\n# comment\ntitle: |\n  # text\n---\n", set()),
        ("---\ntitle: x\n", set()),
        ("---\n\n# Under a rule\n\n---\n", {"under-a-rule"}),
        ("\n---\ntitle: x\n---\n", {"title-x"}),
        ("\ufeff# One", {"one"}),
    ],
)
def test_front_matter_has_no_headings(text: str, expected: set[str]) -> None:
    assert anchors(text) == expected


@given(
    st.lists(
        st.sampled_from(["# a", "## A", "a\n===", "# a-1", "# b", "<h1>a</h1>", "text", "> # a"]), max_size=12
    )
)
@settings(max_examples=100, deadline=None)
def test_every_heading_has_an_anchor_of_its_own(blocks: list[str]) -> None:
    assert len(anchors("\n\n".join(blocks))) == sum(block != "text" for block in blocks)


SCRAPS = [
    "# ", "## a", "\n", "\n\n", "===", "<h1>", "</h1>", "<a id=x>", "<a name='", "'", '"', ">", "<", "<!--", "-->", "---\n",
    "a: b\n", "```", "`", "[", "](x)", "*", "_", "&lt;", "\\", "\0", "\r", "\ufeff", "<style>", "</style>", "text", "é", "- ",
]  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=50).map("".join) | st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read(text: str) -> None:
    assert all(isinstance(anchor, str) for anchor in anchors(text))


MIB = 1024 * 1024
HOSTILE = {
    "headings": "# a\n" * 19_900,
    "long headings": "".join("# a" + "-1" * (n % 40) + "\n" for n in range(19_900)),
    "taken slugs": "".join(f"# a-{n}\n# a\n" for n in range(9_900)),
    "one heading": "# " + "é" * (MIB - 10),
    "emphasis": "# " + "*a_b" * 6_000,
    "open tags": "<div>" + "<p a='" * 9_000 + "x" * 900_000,
    "open attributes": "<div>\n" + "<b id=" * 19_000,
    "attributes": "<div " + "a='b' " * 100_000 + ">",
    "ids": "<div>" + "<p id='x'>" * 9_000,
    "raw elements": "<div>\n" + "<style>" * 9_000,
    "comments": "<div>\n" + "<!-- " * 9_000,
    "an open heading": "<h1>\n\n" + "a\n\n" * 9_000,
    "keys": "---\n" + "a a a a\n" * 19_000 + "---\n",
    "a setext heading": "a\n" * 19_900 + "===",
    "open brackets": "# " + "![" * 9_900,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_takes_long(text: str) -> None:
    start = time.monotonic()
    with suppress(UnreadableError):
        anchors(text)
    assert time.monotonic() - start < 4


@pytest.mark.parametrize(
    "text", ["a" * (MIB + 1), "\n" * 20_001, "# " + "*" * 20_001], ids=["long", "lines", "marks"]
)
def test_too_much_is_unreadable_not_empty(text: str) -> None:
    with pytest.raises(UnreadableError):
        anchors(text)


def test_marks_outside_headings_are_free() -> None:
    text = "# Log\n\n" + "- [#1](https://example.com/1) `a` *b*\n" * 9_000
    assert anchors(text) == {"log"}
