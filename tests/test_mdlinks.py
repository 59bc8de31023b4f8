"""What a Markdown text points at: every way to write a link, on its true line, and nothing that is none."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.mdbounds import MAX_SCANNED
from gatekeeper.mdlinks import Reference, UnreadableError, links


def found(body: str, first_line: int = 1) -> list[tuple[str, str, int]]:
    return [tuple(ref) for ref in links(body, first_line)]


def targets(body: str) -> list[str]:
    return [ref.target for ref in links(body)]


# -- what counts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "refs"),
    [
        ("[a](/x.md)", [("link", "/x.md", 1)]),
        ("[a](<x y.md> 'title')", [("link", "x y.md", 1)]),
        ("[a](x%20y.md#z)", [("link", "x%20y.md#z", 1)]),
        (r"[a](x\_y&amp;z.md)", [("link", "x_y&z.md", 1)]),
        ("[a](Über.md)", [("link", "Über.md", 1)]),
        ("[a]()", [("link", "", 1)]),
        ("[a](#b)", [("link", "#b", 1)]),
        ("![a](i.png)", [("image", "i.png", 1)]),
        ("[![a](i.png)](x.md)", [("link", "x.md", 1), ("image", "i.png", 1)]),
        ("![a ![b](i.png) [c](n.md)](o.png)", [("image", "o.png", 1)]),
        ("`a/b.py`", [("code", "a/b.py", 1)]),
        ("``a/b.py``", [("code", "a/b.py", 1)]),
        ("[`a/b`](c.md)", [("link", "c.md", 1), ("code", "a/b", 1)]),
        ("[a][r] [r][] [r] ![i][r]\n\n[R]: x.md 't'", [("link", "x.md", 1)] * 3 + [("image", "x.md", 1)]),
        ("text\n\n[r]: x.md\n[q]: <y z.md>", [("link", "x.md", 3), ("link", "y z.md", 4)]),
        ("[r]\n\n[r]: x.md\n[r]: y.md", [("link", "x.md", 1), ("link", "y.md", 4)]),
        ("# [a](x.md)\n\n[b](y.md)\n===", [("link", "x.md", 1), ("link", "y.md", 3)]),
        ("**[a](x.md)** ~~[b](y.md)~~ _`c/d`_", [("link", "x.md", 1), ("link", "y.md", 1), ("code", "c/d", 1)]),
        ("> - 1. [a](x.md)", [("link", "x.md", 1)]),
        ("- [ ] [a](x.md)\n- [x] `a/b`", [("link", "x.md", 1), ("code", "a/b", 2)]),
        ("|[a](x.md)|b|\n|-|-|\n|c|`a/b`|", [("link", "x.md", 1), ("code", "a/b", 3)]),
        ("<details>\n\n[a](x.md)\n\n</details>", [("link", "x.md", 3)]),
        ("<b>[a](x.md)</b>", [("link", "x.md", 1)]),
        ("[^1]: [a](x.md)\n\n[^2]: word\n\ntext[^1][^2]", [("link", "x.md", 1)]),
    ],
)  # fmt: skip
def test_what_a_text_points_at(body: str, refs: list[tuple[str, str, int]]) -> None:
    assert found(body) == refs


@pytest.mark.parametrize(
    "body",
    [
        "<https://example.com/a> <a@b.example> [a](https://example.com) [b](mailto:a@b) ![c](//host/i.png)",
        "[a](javascript:a/b) [b](data:text/x)",
        "[a]: https://example.com/a",
        "```\n[a](x.md) `a/b`\n```",
        "~~~sh\n[a](x.md)",
        "    [a](x.md) `a/b`",
        "- text\n\n      [a](x.md)",
        "<!-- [a](x.md) `a/b` -->",
        "text <!-- [a](x.md)\n`a/b` --> text",
        "<!--\n\n[a](x.md)\n\n-->",
        "<pre>\n[a](x.md)\n\n</pre>",
        r"\[a](x.md) [a]\(x.md)",
        "`[a](x.md)` ``` `a/b` ```",
        "<a href='x.md'>a</a> <img src=\"x.png\">",
        "[a] [b][c] (x.md)",
        "`and` `npm run a/b` `src/**/x.py` `https://a.example/b` `src/<name>.py`",
        "a/b.py src/c.py",
    ],
)
def test_what_points_at_nothing_here(body: str) -> None:
    assert found(body) == []


def test_code_that_reads_as_a_path_is_for_the_caller_to_look_up() -> None:
    assert targets("`and/or` `application/json` `origin/main`") == [
        "and/or",
        "application/json",
        "origin/main",
    ]


# -- what is to be made ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("`a/b` (create)", []),
        ("[a](x.md) (new)", []),
        ("![a](i.png): a picture (New)", []),
        ("`a/b` and [c](d.md) (create)", []),
        ("(new) `a/b`", ["a/b"]),
        ("`a/b` (new) `c/d`", ["c/d"]),
        ("`a/b`\n(new)", ["a/b"]),
        ("`a/b`\n`c/d` (new)\n`e/f`", ["a/b", "e/f"]),
        ("[a\nb](x.md) (new)", []),
        ("[a](x.md) (newer) (renew) new create", ["x.md"]),
        ("- `a/b` (new)\n- `c/d`", ["c/d"]),
        ("|`a/b`|(new)|\n|-|-|\n|`c/d`|e|\n|(create)|`e/f`|", ["c/d", "e/f"]),
        ("[a](x.md (new)) [b](y.md 'old')", ["y.md"]),
        ("[r] [s]\n\n[r]: x.md (new)\n[s]: y.md\n[t]: z.md (create)", ["y.md"]),
        ("[`a/b`](x.md) (new)", []),
    ],
)  # fmt: skip
def test_what_is_to_be_made_is_left_out(body: str, left: list[str]) -> None:
    assert targets(body) == left


# -- the true line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("a\nb [x](x)\nc `a/b` d\n![x](x)", [2, 3, 4]),
        ("\n\n  [x](x)", [3]),
        ("a  \nb [x](x)\\\n[x](x)", [2, 3]),
        ("a `co\nde` b [x\ny](x\n'ti\ntle') [x](x)", [2, 5]),
        ("a <b\nc='d'> [x](x)", [2]),
        ("a <!-- b\nc --> [x](x)", [2]),
        ("> a\n> b [x](x)\nlazy [x](x)", [2, 3]),
        ("- a\n\n  b\n  c [x](x)\n  - d\n    [x](x)", [4, 6]),
        ("|a|\n|-|\n|b|\n|[x](x)|", [4]),
        ("a\nb [x](x)\n---", [2]),
        ("[x][r\ns]\n[x][r s]\n\n[r s]: x", [1, 3]),
        ("[q]: y.md\n[x](x)", [1, 2]),
        ("```\na\n```\n\n<!--\n\n-->\n[x](x)\n\n[x](x)", [8, 10]),
        ("\u00a0\n[x](x)", [2]),
        ("> \u2003\n> \x0b\n> [x](x)", [3]),
        ("a\u2028b\x0cc\x85[x](x)", [1]),
        ("a\0\n\0[x](x)", [2]),
        ("a\rb [x](x)\r\nc [x](x)\rd\n\r[x](x)", [1, 2, 3]),
    ],
)  # fmt: skip
def test_the_line_is_the_files_own(body: str, lines: list[int]) -> None:
    assert [line for _, _, line in found(body)] == lines
    assert [line for _, _, line in found(body, 12)] == [line + 11 for line in lines]


PIECES = (
    "text {} text",
    "text\ntext {}\nlazy {} text",
    "- item {}\n  more\n  {}\n\n  para {}",
    "1. a\n   - b {}\n     c\n     {}",
    "> quote\n> {}\n>\n> - {}",
    "| a {} | b |\n|---|---|\n| c | {} |\n| {} | d |",
    "# head {}",
    "set {}\ntext {}\n===",
    "```\nfence\n```",
    "<!-- a\n\nb -->",
    "    code\n\n    code",
    "<div>\nhtml\n</div>",
    "a `code\nspan` {} <b\nc> {}",
    "---",
    "**strong {}** _em\n{}_\\\n{}",
)
FORMS = ("[a](/{}.md)", "![a](/{}.md)", "`/{}.md`", "[a b](</{}.md> 't')", "[`c`](/{}.md)")


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(FORMS)), max_size=12),
    st.booleans(),
    st.integers(1, 99),
)
@settings(max_examples=150, deadline=None)
def test_every_link_is_found_on_its_line(pieces: list[tuple[str, str]], crlf: bool, first: int) -> None:
    count = 0
    blocks = []
    for piece, form in pieces:
        for _ in range(piece.count("{}")):
            piece = piece.replace("{}", form.replace("{}", f"t{count}"), 1)  # noqa: PLW2901
            count += 1
        blocks.append(piece)
    body = "\n\n".join(blocks)
    places = [
        (name, at)
        for at, line in enumerate(body.split("\n"), first)
        for name in re.findall(r"/t\d+\.md", line)
    ]
    assert len(places) == count
    refs = links(body.replace("\n", "\r\n") if crlf else body, first)
    assert [(ref.target, ref.line) for ref in refs] == places


SCRAPS = [
    "[", "]", "(", ")", "![", "](", "](x)", "[r]", "[r]: x", "`", "``", "a/b", "*", "_", "~~", "<", ">", "<!--", "-->",
    "<a ", "\n", "\n\n", "\r", "\r\n", "- ", "1. ", "> ", "# ", "    ", "\t", "|", "|-|", "---", "===", "```", "\\", "&",
    "&amp;", "[^1]: ", "(new)", "\0", "\u00a0", "é", "text ", "'", '"',
]  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=60).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_and_every_line_is_in_it(body: str) -> None:
    refs = links(body)
    assert all(1 <= ref.line <= body.count("\n") + 1 for ref in refs)
    assert [ref.line for ref in refs] == sorted(ref.line for ref in refs)
    assert {ref.kind for ref in refs} <= {"link", "image", "code"}


@given(st.text(max_size=80))
def test_any_text_at_all_is_read(body: str) -> None:
    assert all(isinstance(ref, Reference) for ref in links(body))


# -- bounds ----------------------------------------------------------------------------------------

MIB = 1024 * 1024
HOSTILE = {
    "open brackets": "[" * 9_900,
    "open pictures": "![" * 9_900,
    "nested pictures": "![" * 4_900 + "](a)" * 4_900,
    "nested brackets": "[" * 9_900 + "]" * 9_900,
    "open targets": ("[a](" + "x" * 90) * 9_000,
    "few open targets": "[a](" * 32 + "x" * (MIB - 200),
    "open pointed targets": ("[a](<" + "x" * 90) * 6_000,
    "open titles": "[a](b 't " * 9_000,
    "code runs": "".join("`" * n + " " for n in range(190)),
    "long code": "`" + "a/" * (MIB // 2 - 5) + "`",
    "code with colons": ("`a/" + ":1" * 2_000 + "x` ") * 250,
    "open tags": "[<a x='" * 4_900,
    "emphasis": "[a](b) " + "*a_b" * 4_900,
    "definitions": "".join(f"[a{n}]: /b\n" for n in range(19_900)),
    "open definitions": "[a\n" * 19_000,
    "one paragraph": "[a](b)\n" * 9_000,
    "one line": "[a](b) (new) " * 6_000,
    "a wide table": "|" + "a|" * 256 + "\n|" + "-|" * 256 + "\n" + "|\n" * 4_000,
    "quotes": "> " * 14_000 + "[a](b)",
    "lists": "- " * 14_000 + "[a](b)",
    "deep lists": "".join("  " * n + "- [a](b)\n" for n in range(400)),
    "dashes": "[" + "-" * (MIB - 10),
    "bangs": "[" + "!" * (MIB - 10),
    "spaces": "[ " + " a" * (MIB // 2 - 10),
    "blank lines": "\u00a0\n" * 19_000 + "[a](b)",
    "entities": "[" + "&#x41;" * 19_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_takes_long(body: str) -> None:
    start = time.monotonic()
    with suppress(UnreadableError):
        links(body)
    assert time.monotonic() - start < 4


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("a" * (MIB + 1), "characters"),
        ("\n" * 20_001, "lines"),
        ("`a/b` " * 10_001, "marks"),
        ("|" * 1_001, "vertical bars"),
        (HOSTILE["open targets"], f"at most {MAX_SCANNED}"),
    ],
    ids=["characters", "lines", "marks", "bars", "targets"],
)
def test_too_much_is_unreadable_not_empty(body: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        links(body)


def test_a_fault_of_the_parser_is_unreadable_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    from markdown_it import MarkdownIt  # noqa: PLC0415

    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(MarkdownIt, "parse", fail)
    with pytest.raises(UnreadableError, match="RecursionError"):
        links("[a](b)")


def test_honest_prose_without_spaces_is_read() -> None:
    body = ("[手引き](/docs/guide.md)を読む。" + "漢" * 200 + "\n") * 1_000
    assert len(links(body)) == 1_000
