"""What a task's text shows: every way to hide a line of the ask is told, every honest edit is let be."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gatekeeper import asktext, mdbounds, mdparser
from gatekeeper.markdown import (
    Heading,
    UnreadableError,
    ask_lost,
    evidence,
    has_heading_with,
    has_text_under,
    headings,
    plainly,
    says_nothing,
    shown,
)

LOST = "Three attempts, then an error"
BASE = f"""\
# Retry failed payments

## Context
`src/payments/api.py` gives up at the *first* failure.
See [the guide](/docs/guide.md "how").

## Acceptance criteria
- [ ] {LOST}
- [ ] `tests/payments/test_api.py` covers both
- [ ] it holds:

  ```sh
  make test

  make lint
  ```

{LOST} paragraph
{LOST}
last of it

> Quoted
> words

| case | tries |
| ---- | ----- |
| one  | *3*   |

[guide]: /docs/guide.md "The guide"

## Evidence
<!-- output of the test command -->
"""


def put(old: str, new: str, body: str = BASE) -> str:
    assert old in body
    return body.replace(old, new, 1)


def texts(body: str) -> list[str]:
    return [plainly(line) for line in shown(body).lines]


# -- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("", []),
        ("\n  \n", []),
        ("One\ntwo  \nthree\\\nfour", ["One", "two", "three", "four"]),
        ("# A #\n\nB\n===\n", ["A", "B"]),
        ("- a\n- [ ] b\n* [x] c\n+ [X] d\n1. e\n2) f\n", list("abcdef")),
        ("- [ ]\n- [x] \n-\n", []),
        ("a <!-- b --> c\n", ["a c"]),
        ("a <!-- b\nc --> d\n", ["a d"]),
        ("<!-- a\n\nb -->\nc\n", ["c"]),
        ("<!-- a --> b\n", ["b"]),
        ("`<!-- a -->`\n", ["`<!-- a -->`"]),
        ("```\n<!-- a -->\n```\n", ["<!-- a -->"]),
        ("    <!-- a -->\n", ["<!-- a -->"]),
        ("\\<!-- a -->\n", ["<!-- a -->"]),
        ("<?php a ?>\n\n<!DOCTYPE a>\n\n<![CDATA[ a ]]>\n\nb <?a?> <!A b> <![CDATA[c]]>d\n", ["b d"]),
        ("<script>\na\n</script>\nb\n", ["b"]),
        ("<style>a\n\nb</style>\n\nc\n", ["c"]),
        ("<div hidden>\n\na\n\n</div>\n\nb\n", ["b"]),
        ('<p style="color: red; display: none">a</p>\n\nb\n', ["b"]),
        ("a <span hidden>b</span> c\n", ["a c"]),
        ("a <template>b</template> c\n", ["a c"]),
        ("[//]: # (a)\n\n[b]: /c\n", []),
        ("&lt;!-- a --&gt; &amp; \\*\n", ["<!-- a --> & *"]),
        ("a&#10;b\n", ["a b"]),
        ("\x02#\x03a\n", ["\ufffd#\ufffda"]),
        ("***\n", ["---"]),
        ("|a|\n|-|\n|b|c|\n", ["a", "b"]),
        ("> - <!--\n> ", []),
    ],
)
def test_what_a_body_shows(body: str, lines: list[str]) -> None:
    assert texts(body) == lines


def test_definitions_are_kept_and_not_shown() -> None:
    found = shown("[A b]: /c 'd'\n[a B]: /e\n\ntext\n")
    assert found.definitions == {("A B", "/c", "d")}
    assert [plainly(line) for line in found.lines] == ["text"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "# a"),
        ("# a", "## a"),
        ("a", "> a"),
        ("> a", "> > a"),
        ("a", "    a"),
        ("a", "```\na\n```"),
        ("```\na\n```", "```mermaid\na\n```"),
        ("```\na\n```", "    a"),
        ("a", "`a`"),
        ("a", "*a*"),
        ("*a*", "**a**"),
        ("a", "~~a~~"),
        ("a", "~a~"),
        ("a", "<del>a</del>"),
        ("a", "<div>\na\n</div>"),
        ("a", "<div>\n\na\n\n</div>"),
        ("a", "<details><summary>b</summary>\n\na\n\n</details>"),
        ("a", "[a](b)"),
        ("[a](b)", "[a](c)"),
        ("[a](b)", "[a](b 'c')"),
        ("![a](b)", "![a](c)"),
        ("![a](b)", "![c](b)"),
        ("![a](b)", "[a](b)"),
        ("a", "|a|\n|-|"),
        ("x\n\na", "[^1]: x\na"),
        ("***", "\\-\\-\\-"),
    ],
)
def test_the_same_words_shown_otherwise_are_another_line(one: str, other: str) -> None:
    assert not set(shown(one).lines) & set(shown(other).lines)


# -- honest edits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "new",
    [
        BASE,
        BASE.replace("\n", "\r\n"),
        BASE.replace("\n", "\r"),
        BASE.replace("[ ]", "[x]"),
        BASE.replace("- [ ]", "* [X]"),
        BASE.replace("- [ ] ", "1. [ ] ").replace("\n  ", "\n   "),
        BASE.replace("\n\n", "\n\n\n"),
        BASE.replace("*first*", "_first_"),
        put("<!-- output of the test command -->", "```\n2 passed\n```"),
        put("<!-- output of the test command -->", ""),
        put("<!-- output of the test command -->", "<!-- other -->"),
        BASE + "\n```\n2 passed\n```\n",
        BASE + "\n## Notes\n\n<details>\n\nlong\n",
        put("## Acceptance", "More context.\n\n## Acceptance"),
        put("- [ ] `tests", "- [x] one more\n- [ ] `tests"),
        put("  make lint", "  make types\n  make lint"),
        put("last of it", "last of it  \nand a line behind it"),
        put("Quoted\n", "Quoted   \n"),
        put("## Evidence", "<a name='x'></a>\n\n## Evidence"),
        put("## Evidence", "Optional<Payment> is returned.\n\n## Evidence"),
        put("## Evidence", "a <br> b\n\n<br>\n\n<div>\n\nx\n\n</div>\n\n## Evidence"),
        put("## Evidence", "<details>\n<summary>log</summary>\n\n```\nx\n```\n</details>\n\n## Evidence"),
        put("## Evidence", "[new]: /x\n\n## Evidence"),
        put("| one  | *3*   |", "|one|*3*|\n|two|4|"),
        put("> words", "> words\n> more"),
    ],
)
def test_honest_edits_lose_nothing(new: str) -> None:
    assert ask_lost(BASE, new) is None


def test_a_box_may_be_ticked_at_any_depth() -> None:
    base = "- a\n  1. [ ] b\n     - [ ] c\n> - [ ] d\n\n- - [ ] e\n-\n  [ ] f\n"
    assert ask_lost(base, base.replace("[ ]", "[x]")) is None
    assert ask_lost(base.replace("[ ]", "[x]"), base) is None


def test_what_base_hides_itself_may_go() -> None:
    base = "# A\n\n<div hidden>\n\nb\n\n</div>\n\n<script>\nc\n</script>\n\nd <!-- e --> f\n"
    assert ask_lost(base, "# A\n\nd f\n") is None


def test_what_base_folds_away_may_stay_folded() -> None:
    base = "# A\n\n<details>\n<summary>b</summary>\n\nc <u>d\ne</u>\n\n</details>\n\nf\n"
    assert ask_lost(base, put("f\n", "f\n\ng\n", base)) is None
    assert ask_lost(base, put("c <u>", "c", base)) == "c <u>d"


# -- every way to lose a line ----------------------------------------------------------------------------

FIRST = f"{LOST} paragraph"
PARAGRAPH = f"{FIRST}\n{LOST}\nlast of it\n"
HIDDEN = {
    "reworded": "One attempt paragraph\n",
    "removed": "",
    "another order": f"last of it\n{LOST}\n{FIRST}\n",
    "joined": PARAGRAPH.replace("\n", " ") + "\n",
    "a word more": PARAGRAPH.replace("paragraph", "paragraph, or not"),
    "comment": f"<!--\n{PARAGRAPH}-->\n",
    "comment with blank lines": f"<!--\n\n{PARAGRAPH}\n-->\n",
    "comment in one line each": "".join(f"<!-- {line} -->\n" for line in PARAGRAPH.splitlines()),
    "comment opened in the line before": f"x <!--\n{PARAGRAPH}-->\n",
    "comment opened in a quote": f"> <!--\n\n{PARAGRAPH}\n-->\n",
    "comment opened in a list": f"- <!--\n\n{PARAGRAPH}\n-->\n",
    "instruction": f"<?\n{PARAGRAPH}?>\n",
    "declaration": f"<!X\n{PARAGRAPH}>\n",
    "character data": f"<![CDATA[\n{PARAGRAPH}]]>\n",
    "script": f"<script>\n{PARAGRAPH}</script>\n",
    "style": f"<style>\n\n{PARAGRAPH}\n</style>\n",
    "textarea": f"<textarea>\n\n{PARAGRAPH}\n</textarea>\n",
    "template": f"<template>\n\n{PARAGRAPH}\n</template>\n",
    "template in the text": f"x <template>\n{PARAGRAPH}</template>\n",
    "details": f"<details>\n\n{PARAGRAPH}\n</details>\n",
    "details in the text": f"x <details>\n\n{PARAGRAPH}\n",
    "details that never end": f"<details>\n\n{PARAGRAPH}",
    "details ended by another's end": f"<details>\n\n</div></span></p>\n\n{PARAGRAPH}\n</details>\n",
    "hidden": f"<div hidden>\n\n{PARAGRAPH}\n</div>\n",
    "hidden, oddly written": f"<DIV\nclass=a\nHIDDEN=''>\n\n{PARAGRAPH}\n</DIV>\n",
    "not displayed": f"<div style='display :\tnone'>\n\n{PARAGRAPH}\n</div>\n",
    "hidden span": f"<span hidden>\n{PARAGRAPH}</span>\n",
    "hidden span around a block": f"<span hidden>\n\n<div></span></div>\n\n{PARAGRAPH}\n</span>\n",
    "hidden formatting": f"<div><b hidden></div>\n\n{PARAGRAPH}\n",
    "hidden formatting in the text": f"x <font hidden>\n\n{PARAGRAPH}\n",
    "a quote in a name": f'<div a" hidden b="></div>">\n\n{PARAGRAPH}\n</div>\n',
    "an attribute": f'<span title="\n{PARAGRAPH}">x</span>\n',
    "an attribute of a block": f'<div title="\n{PARAGRAPH}">\n\nx\n\n</div>\n',
    "an attribute that never ends": f'<div title="\n\n{PARAGRAPH}',
    "a tag that never ends": f"<div x\n\n{PARAGRAPH}",
    "raw HTML": f"<div>\n{PARAGRAPH}</div>\n",
    "struck out": "".join(f"~~{line}~~\n" for line in PARAGRAPH.splitlines()),
    "struck out as a whole": f"~~x\n{PARAGRAPH}y~~\n",
    "struck out by single tildes": f"~x\n{PARAGRAPH}y~\n",
    "struck out in HTML": f"<del>\n\n{PARAGRAPH}\n</del>\n",
    "struck out in the text": f"x <s>\n{PARAGRAPH}</s>\n",
    "a formula": f"$$\n\\phantom{{\n{PARAGRAPH}}}\n$$\n",
    "fence": f"```\n{PARAGRAPH}```\n",
    "fence of tildes": f"~~~\n{PARAGRAPH}~~~\n",
    "fence that never ends": f"```\n{PARAGRAPH}",
    "indented": "".join(f"        {line}\n" for line in PARAGRAPH.splitlines()),
    "code span": f"`\n{PARAGRAPH}`\n",
    "link": f"[x\n{PARAGRAPH}](y)\n",
    "title of a link": f'[x](y "\n{PARAGRAPH}")\n',
    "text of a picture": f"![\n{PARAGRAPH}](y)\n",
    "definition": f"[//]: # (\n{PARAGRAPH})\n",
    "definition's title": f"[a]: b\n'{PARAGRAPH}'\n",
    "definitions, one a line": "".join(f"[//]: # ({line})\n" for line in PARAGRAPH.splitlines()),
    "footnote": f"[^1]: x\n{PARAGRAPH}",
    "footnote with words": f"[^1]: some words\n{PARAGRAPH}",
    "footnote defined twice": f"[^1]: x\n[^1]: y\n{PARAGRAPH}",
    "quote": "".join(f"> {line}\n" for line in PARAGRAPH.splitlines()),
    "lazy quote": f"> x\n{PARAGRAPH}",
    "heading": "".join(f"# {line}\n" for line in PARAGRAPH.splitlines()),
    "table": f"|{FIRST}|\n|-|\n|{LOST}|\n|last of it|\n",
    "a table's lazy rows": f"|a|\n|-|\n{PARAGRAPH}",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_line_that_is_no_longer_shown_is_told(how: str) -> None:
    new = put(PARAGRAPH, HIDDEN[how])
    assert not asktext.only_appended(BASE, new)
    assert ask_lost(BASE, new) in (FIRST, LOST, "last of it")
    assert ask_lost(BASE, new + "\n## Evidence\n\n```\n2 passed\n```\n") is not None


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        (f"- [ ] {LOST}", "- [x] One attempt", LOST),
        (f"- [ ] {LOST}\n", "", LOST),
        ("- [ ] `tests", "- [ ] ~~`tests", "`tests/payments/test_api.py` covers both"),
        ("`tests/payments/test_api.py`", "`tests/payments`", "`tests/payments/test_api.py` covers both"),
        ("*first*", "first", "`src/payments/api.py` gives up at the *first* failure."),
        ("/docs/guide.md", "/docs/other.md", 'See [the guide](/docs/guide.md "how").'),
        ("  make test", "  make none", "make test"),
        ("```sh", "```mermaid", "make test"),
        ("| one  | *3*", "| one  | *1*", "one | *3*"),
        ("| case | tries |\n| ---- | ----- |", "| case |\n| ---- |", "case | tries"),
        ('[guide]: /docs/guide.md "The guide"', "", "[guide]: /docs/guide.md"),
        ("[guide]: /docs", "[guide]: /else\n[guide]: /docs", "[guide]: /docs/guide.md"),
        ("## Evidence", "# Evidence", "Evidence"),
        ("## Evidence\n", "", "Evidence"),
    ],
)
def test_what_is_lost_is_named(old: str, new: str, lost: str) -> None:
    assert ask_lost(BASE, put(old, new)) == lost


def test_a_definition_behind_the_text_reaches_back_into_it() -> None:
    assert ask_lost("see [a]\n", "see [a]\n\n[a]: /b\n") == "see [a]"


def test_a_code_block_behind_a_footnote_belongs_to_it() -> None:
    base = "Text.\n\n    make test\n"
    for note in ("[^1]: x", "[^1]: some words", "[^1]: x\n\n    more"):
        assert ask_lost(base, f"Text.\n\n{note}\n\n    make test\n") == "make test"
    assert ask_lost(base, "Text.\n\n[^1]: x\n\nMore.\n\n    make test\n") is None


# What GitHub's renderer reads otherwise than CommonMark, or a browser otherwise than Markdown.
UNLIKE = {
    "a footnote takes the place of a lazy line": ("- a\n- b\n", "- a\n[^n]: x\n    - b\n"),
    "a footnote in a quote": ("> a\n>\n> b\n", "> a\n>\n> [^n]: x\n>     b\n"),
    "a footnote of another first": ("a[^1]\n\n[^1]: b\n", "a[^1]\n\n[^1]: c\n\n[^1]: b\n"),
    "a footnote's end tag closes nothing": ("a\n", "<details>\n\n[^n]: </details>\n\na\n"),
    "what opens at the end folds the footnotes": ("a[^1]\n\n[^1]: b\n", "a[^1]\n\n[^1]: b\n\n<details>\n"),
    "a reference of many lines": ("a\n", "[^x\na\ny]\n"),
    "a mere mark becomes a reference": ("a[^not]b\n", "a[^not]b\n\n[^not]: x\n"),
    "a tag on a lazy line": ("- a\n\nb\n", '- a\n</b>\n<a href="\n\nb\n'),
    "an element on a lazy line": ("- a\n- b\n", "- a\n<del>\n\n- b\n"),
    "an element on a lazy line of a quote": ("> a\n\nb\n", "> a\n<del>\n\nb\n"),
    "an element in a table": ("b\n", "a|\n-|\n<x hidden>\n\nb\n"),
    "an instruction ends at the first >": ("a\n", "<?> <!-- ?>\n\na\n"),
    "an instruction that opens an element": ("a\n", "<?> <details> ?>\n\na\n"),
    "character data end at the first >": ("a\n", "<![CDATA[> <!-- ]]>\n\na\n"),
    "but not in a drawing": ("a\n", "<svg><![CDATA[> </svg> ]]>\n\na\n"),
    "no declaration without a capital": ("a\n", "<!x\n<!--\n>\n\na\n"),
    "no declaration in a text": ("a\n", "x <!x\n<s>\na\n"),
    "a source begins a block": ("- a\n", "x\n<source><!--\n\n- a\n"),
    "no blank to HTML": ("a\n", "<details>\n</details\xa0>\n\na\n"),
    "no letter of HTML's": ("a\n", "<mark hidden>\n\n</mar\u212a>\n\na\n"),
    "a style with a comment": ("a\n", "<style>\n<!--\n</style>\n\na\n"),
    "any scheme makes a definition": ("a\n", "[x]: javascript:y '\na\n'\n"),
    "a paragraph of a tight list": ("- a\n  - b\n", "- a\n  <del>:\n  - b\n"),
    "end tags of Markdown's own elements": ("- a\n\nb\n", "- a </li></ul><i><b><x hidden>\n\nb\n"),
    "an end tag in a cell": ("a\n", "<details>\n\n|b|\n|-|\n|</details>|\n\na\n"),
    "an item that ends what stood in it": ("- <details>\n\na\n", "<details>\n\n- x\n\na\n"),
    "a rule ends a paragraph": ("a\n", "x<hr><y hidden>\n\na\n"),
    "a block in a paragraph": ("a\n", "x<div></div><y hidden>\n\na\n"),
    "an end tag that a paragraph stops": ("a\n", "<noscript>\n\nx </noscript>\n\na\n"),
    "a comment across the end of an item": ("a\n", "- x\n?<details>\n  <!--\n<!-->\na\n"),
    "what stands in a style is text": ("a\n", "x<style><del></style>\na\n"),
    "a heading of two lines": ("a\n", "a\nb|\n--\n"),
}
NO_PARSER_KNOWS = {
    "a table without bars": ("a\n", "b\n:-\na\n"),
    "a table's head parted by escaped bars": ("a\n", "b\\\\|c\n-|-\na\n"),
    "an item that begins with blanks": ("a\n", "-\n  \n    <!--\n\na\n"),
    "a quote behind four blanks": ("a\n", "> <!--\n    > -->\n\na\n"),
    "code below a definition": ("a\n", "[x]: y\n    <details>\n\na\n"),
    "a block below a definition": ("a\n", "[x]: y\n<b>\n```\n\na\n"),
    "a lazy line below a definition": ("a\n", ">[x]: y\n    <h1>\na\n"),
    "a definition in a footnote": ("a\n", "[^1]: [x]: y\na\n"),
    "a line of dashes below a definition": ("a\n", "[x]:>\n---\n    <details>\n\na\n"),
    "a table's head on a lazy line": ("a\n", "b\n    |c|d|\n-|-\n    a\n"),
    "a footnote in a footnote": ("b[^1]\n\n[^1]: a\n", "b[^1]\n\n[^1]: a\n    [^1]:\n"),
    "a lazy line far in of a quote in a quote": ("a\n", ">>b\n    <p <object>\na\n"),
    "a lazy line far in": ("a\n", "1000. x\n    <!--<h1>\na\n"),
    "a blank that is none": ("a\n", "\x0b|b|\n-|-\n\na\n"),
}


@pytest.mark.parametrize("how", UNLIKE)
def test_what_github_shows_otherwise_is_told(how: str) -> None:
    base, new = UNLIKE[how]
    assert ask_lost(base, base) is None
    assert ask_lost(base, new) is not None


@pytest.mark.parametrize("how", NO_PARSER_KNOWS)
def test_what_may_be_shown_otherwise_is_not_read(how: str) -> None:
    base, new = NO_PARSER_KNOWS[how]
    with pytest.raises(UnreadableError):
        ask_lost(base, new)


@pytest.mark.parametrize("tag", ["select", "script", "title", "video", "template", "div hidden", "x", "b"])
def test_an_element_that_never_ends_hides_nothing_of_the_ask(tag: str) -> None:
    for base in (f"Replace the <{tag}> here.\n\n- a\n- b\n", f"- a\n\n<{tag}>\n\nb\n"):
        assert {"a", "b"} <= set(texts(base))
        assert ask_lost(base, base + "\n## Notes\n\nc <br> d\n") is None
        assert ask_lost(base, base.replace("b\n", "c\n")) == "b"
        assert ask_lost("- a\n\nb\n", f"- a\n\n<{tag}>\n\nb\n") in ("b", None if tag == "x" else "b")


def test_definitions_may_have_neighbours() -> None:
    for below in (
        "",
        "[c]: d\n",
        "\n---\n\nb\n",
        "---\n\nb\n",
        "# b\n",
        "- b\n",
        "> b\n",
        "<!-- x -->\nb\n",
        "b\n",
    ):
        assert ask_lost("a\n", f"[x]: y\n{below}\na\n") is None


def test_footnotes_are_kept_as_any_text() -> None:
    base = "a[^1] b[^2]\n\n[^1]: x\n\n    y\n\n[^2]: z\nw\n\nc\n"
    assert sorted(texts(base)) == ["a[^1] b[^2]", "c", "w", "x", "y", "z"]
    assert ask_lost(base, "More[^3].\n\n[^3]: v\n\n" + base) is None
    assert ask_lost(base, put("    y", "    u", base)) == "y"
    assert evidence("## Evidence\nran[^1]\n\n[^1]: https://example.org/run/1\n", "## Evidence\n")


# -- without a parser -----------------------------------------------------------------------------------------


def test_the_usual_edits_need_no_parser() -> None:
    base = "# A\n\n- [ ] b\n\n## Evidence\n<!-- c -->\n"
    edits = [
        base,
        base.replace("[ ]", "[x]"),
        base + "\n```\n<2> passed\n```\n",
        base.replace("<!-- c -->", "```\n<2> passed\n```"),
        base.replace("<!-- c -->", "\nhttps://example.org"),
    ]
    code = (
        f"import sys\nfrom gatekeeper.markdown import ask_lost\n[ask_lost({base!r}, e) for e in {edits!r}]\n"
    )
    code += "sys.exit('markdown_it' in sys.modules)\n"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


LINES = st.sampled_from(
    ["", "", "a", "b", "# A", "## Evidence", "- [ ] c", "- [x] c", "* d", "  e", "    f", "> g", "```", "~~~", "<!--", "-->", "<!-- h -->", "<!-->", "<!-- i --!> j -->", "<div>", "</div>", "<div hidden>", "<details>", "<pre>", "<b", '<div a="', '">', "[a]: b", "[^1]: c", "[^1]:", "'t'", "[a]", "`", "~~k", "---", "===", "|a|b|", "|-|-|", "1. l", "$$", "x <s>", "y <!--", "\\"]
)  # fmt: skip
BODIES = st.lists(LINES, max_size=12).map("\n".join)


@settings(max_examples=400, deadline=None)
@given(BODIES, BODIES, st.sampled_from(["", "\n", "\n\n", "\n\n\n"]), st.booleans())
def test_the_short_way_never_says_more_than_the_parser(base: str, more: str, gap: str, replace: bool) -> None:
    new = (base.rpartition("<!--")[0] if replace else base) + gap + more
    if asktext.only_appended(asktext.unticked(base), asktext.unticked(new)):
        with suppress(UnreadableError):
            old, now = shown(base), shown(new)
            rest = iter(now.lines)
            # A tag alone shows nothing, and one that hides goes with what it hides once it is closed.
            assert all(line in rest for line in old.lines if not plainly(line).startswith("<"))
            assert old.definitions <= now.definitions


def readable(body: str) -> bool:
    try:
        shown(body)
    except UnreadableError:
        return False
    return True


@settings(max_examples=200, deadline=None)
@given(BODIES, BODIES)
def test_a_line_of_its_own_is_missed_and_nothing_else(before: str, after: str) -> None:
    own = "a line of its own"
    body = f"{before}\n\n{own}\n\n{after}"
    assume(readable(body) and readable(f"{before}\n\n{after}"))
    assert ask_lost(body, body) is None
    if own in texts(body):
        assert ask_lost(body, f"{before}\n\n{after}") is not None
        assert ask_lost(own, body) in (None, own)


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        st.sampled_from("<>!-[]()`~*_#|=\"'&;/\\: \n\tabdivhidden\x02\x03$^") | st.characters(codec="utf-8"),
        max_size=120,
    )
)
def test_any_text_is_read_or_refused(body: str) -> None:
    try:
        found = shown(body)
    except UnreadableError:
        return
    assert all("\n" not in line for line in found.lines)
    assert ask_lost(body, body + "\n\nmore") is None or "]:" in body
    assert isinstance(evidence(body, ""), bool)


# -- evidence ----------------------------------------------------------------------------------------------------

TASK = (
    "# T\n\n```\nmake test\n```\n\nSee https://example.org/a and [b](/b).\n\n## Evidence\n<!-- output -->\n"
)


@pytest.mark.parametrize(
    "given_",
    [
        "```\n2 passed\n```",
        "~~~sh\n2 passed\n~~~",
        "- ran:\n\n  ```\n  2 passed\n  ```",
        "> ```\n> 2 passed\n> ```",
        "<details>\n<summary>log</summary>\n\n```\n2 passed\n```\n\n</details>",
        "### Local\n\n```\n2 passed\n```",
        "[run](https://example.org/run/1)",
        "[run](../logs/1.txt)",
        "<https://example.org/run/1>",
        "https://example.org/run/1.",
        "Ran as **https://example.org/run/1**",
        "![shot](shot.png)",
        "[![shot](shot.png)](#top)",
        "|run|\n|-|\n|https://example.org/run/1|",
        "[run]\n\n[run]: https://example.org/run/1",
        "```\nmake test\n2 passed\n```",
    ],
)
def test_evidence_is_a_new_fence_or_a_new_link(given_: str) -> None:
    assert evidence(put("<!-- output -->", given_, TASK), TASK)
    assert evidence(TASK.replace("## Evidence", "# *evidence:*").replace("<!-- output -->", given_), TASK)
    assert not evidence(put("## Evidence", f"{given_}\n\n## Evidence", TASK), TASK)
    assert not evidence(TASK + "\n# Notes\n\n" + given_, TASK)
    assert not evidence(put("<!-- output -->", f"<!--\n{given_}\n-->", TASK), TASK)
    assert not evidence(put("<!-- output -->", f"<div hidden>\n\n{given_}\n\n</div>", TASK), TASK)
    assert not evidence(put("<!-- output -->", given_, TASK), put("<!-- output -->", given_, TASK))


@pytest.mark.parametrize(
    "given_",
    [
        "",
        ".",
        "2 passed",
        "```\n```",
        "```\n \n\t\n```",
        "```\nmake   test\n```",
        "    2 passed",
        "`2 passed`",
        "https://example.org/a",
        "[c](/b)",
        "[run]()",
        "[run](#top)",
        "[](https://example.org/run/1)",
        "[<!-- x -->](https://example.org/run/1)",
        "[run]: https://example.org/run/1",
        "`https://example.org/run/1`",
        "<!-- https://example.org/run/1 -->",
        "<script>\nhttps://example.org/run/1\n</script>",
        "http://",
    ],
)
def test_what_is_no_evidence(given_: str) -> None:
    assert not evidence(put("<!-- output -->", given_, TASK), TASK)


def test_no_heading_no_evidence() -> None:
    assert not evidence("# T\n\n```\n2 passed\n```\n", "# T\n")
    assert not evidence("```\n# Evidence\n```\n\n```\n2 passed\n```\n", "# T\n")
    assert not evidence("## Evidence of nothing\n\n```\n2 passed\n```\n", "# T\n")


# -- headings, text ------------------------------------------------------------------------------------------------


def test_headings_are_those_that_are_shown() -> None:
    body = "# *One* `two`\n\nThree\n---\n\n> ### Four\n\n```\n# No\n```\n\n<!--\n# No\n-->\n\n<div hidden>\n\n# No\n\n</div>\n\n#\n"
    expected = (Heading(1, "One two", 1), Heading(2, "Three", 3), Heading(3, "Four", 6), Heading(1, "", 22))
    assert headings(body) == expected


def test_a_heading_with_a_word() -> None:
    assert has_heading_with("## ACCEPTANCE criteria\n", "accept")
    assert has_heading_with("How it is **accept**ed\n===\n", "accept")
    assert not has_heading_with("accept\n\n`# accept`\n\n<!--\n# accept\n-->\n", "accept")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("## Alternatives\n\nFiles: they race.\n", True),
        ("### rejected ALTERNATIVES:\n- Files\n", True),
        ("## Alternatives\n\n### Files\n\nThey race.\n", True),
        ("## Alternatives\n\n```\nfiles\n```\n", True),
        ("## Alternatives\n\n|a|\n|-|\n", True),
        ("## Alternatives\n\n![a](b.png)\n", True),
        ("## Alternatives\n\n## Consequences\nNone.\n", False),
        ("## Alternatives\n\n# Consequences\nNone.\n", False),
        ("## Alternatives\n\n### Files\n", False),
        ("## Alternatives\n\n<!-- none -->\n\n---\n\n[a]: b\n\n<a name='x'></a>\n", False),
        ("## Alternatives considered\n\nFiles.\n", False),
        ("Alternatives\n\nFiles.\n", False),
        ("## Alternatives\n", False),
        ("", False),
    ],
)
def test_text_under_a_heading(body: str, found: bool) -> None:
    assert has_text_under(body, ("alternatives", "rejected alternatives")) is found


@pytest.mark.parametrize(
    ("body", "nothing"),
    [
        ("", True),
        ("\n \n", True),
        ("<!-- a -->\n", True),
        ("[a]: b\n", True),
        ("---\n", True),
        ("- [ ]\n", True),
        ("#\n", True),
        ("a", False),
        ("# a", False),
        ("```\na\n```\n", False),
        ("![](a)", False),
    ],
)
def test_a_body_that_says_nothing(body: str, nothing: bool) -> None:
    assert says_nothing(body) is nothing


# -- hostile bodies ----------------------------------------------------------------------------------------------------


def many(text: str, size: int = 1 << 20) -> str:
    return (text * (size // len(text) + 1))[:size]


REFUSED = {
    "too long": "a" * (mdbounds.MAX_BODY + 1),
    "lines": many("a\n"),
    "brackets": many("["),
    "pictures": many("!["),
    "emphasis": many("*a_ "),
    "comments": "x " + many("<!-- "),
    "tags": "<div>\n" + many("<a></a>"),
    "open tags": "<div>\n" + "<i>" * 70,
    "open tags in the text": "x " + "<i>" * 70,
    "containers": many("1. > - a\n", 90_000),
    "quotes": many(">" * 19 + "a\n", 100_000),
    "cells": many("|a|b|c|\n", 140_000),
    "targets": many("[a](" + "x" * 90),
    "exclamations": many("!"),
    "footnotes in footnotes": many("[^a]: ", 40_000),
    "quotes in quotes": ">" * 11 + many("a\n", 38_000),
    "rows to fill up": many("a|", 1900) + "\n" + many("-|", 1900) + "\n" + many("|\n", 38_000),
    "wide tables": (many("|a", 1800) + "\n" + many("|-", 1800) + "\n" + many("x\n", 200) + "\n") * 30,
    "tables in a row": "a|\n-|\n>x\n" * 6_000,
    "a wide table": many("a|", 3000) + "\n" + many("-|", 3000) + "\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_take_long_is_refused_at_once(name: str) -> None:
    start = time.process_time()
    with pytest.raises(UnreadableError) as caught:
        ask_lost("# A\n", REFUSED[name])
    with pytest.raises(UnreadableError):
        evidence("# A\n", REFUSED[name])
    assert str(caught.value).isprintable()
    assert time.process_time() - start < 3


READ = {
    "words": many("Some words of plain text, and more of them.\n", 800_000),
    "a log in a fence": "```\n"
    + many("INFO [x] <a> *b* | some more words of it here and there\n", 1 << 19)
    + "```\n",
    "one line": many("x "),
    "brackets": many("[", 19_000),
    "pictures": many("![", 19_000),
    "stars": many("*", 19_000),
    "lazy quotes": ">" * 10 + many("a\n", 38_000),
    "dashes": many("- ", 28_000),
    "rows": "a|b\n-|-\n" + many("|\n", 18_000),
    "rows to fill up": many("a|", 100) + "\n" + many("-|", 100) + "\n" + many("|\n", 700),
    "a tag": "<div>\n<a " + many("b = ", 10**6),
    "a tag's blanks": "<div>\n<a b" + many(" ", 10**6),
    "an attribute": "<div style='" + many("display: ", 10**6) + "'>",
    "end tags": "<div>\n" + "<i>" * 50 + many("</x>", 70_000),
    "boxes": many("- ", 28_000) + many(" ", 900_000) + "[",
    "tildes": many("~ ", 38_000),
    "addresses": many("https://"),
    "notes": "".join(f"[^a{i}]: b\n" for i in range(9_000)) + "x",
    "definitions": "".join(f"[a{i}]: b\n" for i in range(9_000)),
    "nothing": many(" "),
    "long footnotes": "".join(f"[^a{i}]: b\n\n    c\n\n" for i in range(4_500)),
    "stops": many("- = : $ "),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_read_in_time(name: str) -> None:
    start = time.process_time()
    shown(READ[name])
    assert time.process_time() - start < 8  # about a second at most is usual; quadratic ones take minutes


def test_a_parsers_own_fault_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def parse(self, *_: object) -> None:
            raise RecursionError("x\n::error::")

    monkeypatch.setattr(mdparser, "_parser", Broken)
    with pytest.raises(UnreadableError, match=r"gave up \(RecursionError\)"):
        shown("a")
