"""verify-task-links over a small tree in memory: what holds, what leads nowhere, and what was probably meant."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from gatekeeper import linking
from gatekeeper.linking import MISSING, NO_ANCHOR, Case, Linker
from gatekeeper.model import FOLDER, GITLINK, REGULAR, SYMLINK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatekeeper.model import Defect

TASK = b".agents/tasks/queued/T-1.md"
GUIDE = "# Guide\n\n## First steps\n\n### First steps\n\n<a id='Old'></a>\n"


class Tree:
    """Paths and what stands there: text, or a mode without text. Counts how often a text was asked for."""

    def __init__(self, files: dict[str, str | int | bytes | None]) -> None:
        self.files = {path.encode("utf-8", "surrogateescape"): what for path, what in files.items()}
        self.asked = 0

    def entry(self, path: bytes) -> tuple[int, str] | None:
        if path in self.files:
            what = self.files[path]
            return what if isinstance(what, int) else REGULAR[0], path.decode("utf-8", "surrogateescape")
        below = path + b"/" if path else b""
        return (FOLDER, "folder") if any(name.startswith(below) for name in self.files) else None

    def text(self, oid: str) -> bytes | None:
        self.asked += 1
        what = self.files[oid.encode("utf-8", "surrogateescape")]
        return what.encode() if isinstance(what, str) else what if isinstance(what, bytes) else None

    def paths(self) -> Sequence[bytes]:
        return list(self.files)


def tree() -> Tree:
    return Tree(
        {
            "README.md": "# Sample\n",
            "docs/guide.md": GUIDE,
            "docs/two words.md": "# Two\n",
            "docs/large.md": None,
            "docs/odd.md": "|" * 1001,
            "docs/notes.txt": "1\n2\n3",
            "docs/\udcff.md": "# Odd\n",
            "src/api.py": "1\n2\n",
            "src/link.md": SYMLINK,
            "src/way": SYMLINK,
            "vendor/lib": GITLINK,
            TASK.decode(): "here",
        }
    )


def found(body: str, look: Linker | None = None, path: bytes = TASK) -> list[tuple[str, int]]:
    return [(defect.code, defect.line or 0) for defect in defects(body, look, path)]


def defects(body: str, look: Linker | None = None, path: bytes = TASK) -> tuple[Defect, ...]:
    look = look or Linker(tree(), [b".agents/tasks/done/"])
    return look.defects(path, body, 1, lambda: f"---\nid: x\n---\n{body}")


@pytest.mark.parametrize(
    "body",
    [
        "no link at all",
        "[a](/README.md) [b](../../../docs/guide.md) [c](/docs/) [d](/) [e](.) [f](../../..)",
        "[a](/docs/guide.md#first-steps) [b](/docs/guide.md#first-steps-1) [c](/docs/guide.md#Old)",
        "[a](/docs/guide.md#) [b](/docs/guide.md#top) [c](/docs/guide.md#L7) [d](/docs/guide.md#L1-L7)",
        "[a](/docs/guide.md?plain=1#L3) ![b](/docs/guide.md#nothing)",
        "[a](/docs/two%20words.md#two) [b](</docs/two words.md>)",
        "[a](/docs/%FF.md)",
        "[a](/src/api.py#L2) [b](/src/api.py#any) [c](/docs/notes.txt#L3)",
        "[a](/vendor/lib) [b](/vendor/lib/in/side.md#x) `vendor/lib/none.py`",
        "[a](/src/link.md#nothing) [b](/src/way) `src/link.md`",
        "[a](/docs#readme) [b](/docs/large.md#L9000)",
        "[a](/.agents/tasks/done) [b](../done/) `.agents/tasks/done/`",
        "# Here\n\n[a](#here) [b](#) [c](#top) [d]() [e](#L3) [f](#L4-L6)",
        "[a](https://example.com/none.md) [b](mailto:a@b.example) [c](//example.com/x)",
        "`and/or` `application/json` `lib/none.py` `src/*.py` `src/<name>.py` `npm run src/none` `src` `none.py`",
        "`src/api.py` `src/api.py:12` `src/api.py::test_it` `docs/guide.md#any` `/src/api.py` `./src/api.py`",
        "`src/none.py` (create)\n[b](/docs/none.md) (new)\n`src/../../etc/passwd` `../x/y`",
        "```\n[a](/none.md) `src/none.py`\n```\n\n<!-- [a](/none.md) -->\n\n    [a](/none.md)\n",
    ],
)
def test_what_holds(body: str) -> None:
    assert defects(body) == ()


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("[a](/none.md)", [(MISSING, 1)]),
        ("\n![a](/none.png)", [(MISSING, 2)]),
        ("[a](docs/guide.md)", [(MISSING, 1)]),
        ("[a](../../../../etc/passwd)", [(MISSING, 1)]),
        ("[a](/../x)", [(MISSING, 1)]),
        ("[a](/docs/Guide.md)", [(MISSING, 1)]),
        ("[a](/docs%2Fguide.md)", [(MISSING, 1)]),
        ("[a](/docs/%2E%2E/README.md)", [(MISSING, 1)]),
        ("[a](/README.md/x)", [(MISSING, 1)]),
        ("[a](/src/way/api.py)", [(MISSING, 1)]),
        ("[a](/.agents/tasks/cancelled)", [(MISSING, 1)]),
        ("[a](/.agents/tasks/done/T-2.md)", [(MISSING, 1)]),
        ("[a][b]\n\n[b]: /none.md\n[c]: /none2.md", [(MISSING, 1), (MISSING, 4)]),
        ("`src/none.py`", [(MISSING, 1)]),
        ("`/src/none.py` `src/none.py:12` `docs/none.md#x`", [(MISSING, 1)] * 3),
        ("text\n`src/API.py`", [(MISSING, 2)]),
        ("[a](/docs/guide.md#last-steps)", [(NO_ANCHOR, 1)]),
        ("[a](/docs/guide.md#First-Steps)", [(NO_ANCHOR, 1)]),
        ("[a](/docs/guide.md#first-steps-2)", [(NO_ANCHOR, 1)]),
        ("[a](/docs/guide.md#L8)", [(NO_ANCHOR, 1)]),
        ("[a](/docs/guide.md#L0) [b](/src/api.py#L2-L1) [c](/src/api.py#L3)", [(NO_ANCHOR, 1)] * 3),
        ("[a](/src/api.py#L" + "9" * 5000 + ")", [(NO_ANCHOR, 1)]),
        ("[a](#none) [b](#L99)", [(NO_ANCHOR, 1), (NO_ANCHOR, 1)]),
        ("[a](/docs/large.md#x)", [(NO_ANCHOR, 1)]),
        ("[a](/docs/odd.md#x)", [(NO_ANCHOR, 1)]),
        ("[a](/x)" + "|" * 1001, [(MISSING, 1)]),
    ],
)
def test_what_leads_nowhere(body: str, codes: list[tuple[str, int]]) -> None:
    assert found(body) == codes
    for defect in defects(body):
        assert defect.help
        assert len(defect.message) < 400


def test_front_matter_has_no_anchors_and_counts_among_the_lines() -> None:
    assert found("[a](#id-x) [b](#L4)") == [(NO_ANCHOR, 1)]


def test_a_relative_link_starts_at_the_files_own_folder() -> None:
    assert found("[a](guide.md) [b](none.md) [c](../README.md)", path=b"docs/index.md") == [(MISSING, 1)]
    assert found("[a](docs/guide.md) [b](./README.md)", path=b"index.md") == []


def test_a_line_may_be_an_anchor_of_that_name() -> None:
    look = Linker(Tree({"x.md": "<a id='L99'></a>\n"}))
    assert found("[a](/x.md#L99)", look) == []


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("[a](/docs/Guide.md)", "`docs/guide.md`"),
        ("[a](/docs/giude.md)", "`docs/guide.md`"),
        ("`src/apy.py`", "`src/api.py`"),
        ("[a](/DOCS/)", "`docs`"),
        ("[a](/docs/guide.md#first-step)", "`#first-steps`"),
    ],
)
def test_what_was_probably_meant(body: str, meant: str) -> None:
    (defect,) = defects(body)
    assert f"Did you mean {meant}" in (defect.help or "")


@pytest.mark.parametrize("body", ["[a](/xylophone)", "`src/" + "q" * 300 + ".py`", "[a](/docs/guide.md#zzz)"])
def test_where_nothing_is_near_nothing_is_guessed(body: str) -> None:
    (defect,) = defects(body)
    assert "Did you mean" not in (defect.help or "")


def test_a_message_names_some_of_the_anchors_and_says_how_to_mark_what_is_to_be_made() -> None:
    (defect,) = defects("[a](/docs/guide.md#zzz)")
    assert defect.help == "Its anchors are: 'Old', 'first-steps', 'first-steps-1', 'guide'."
    (defect,) = defects("`src/xylophone`")
    assert "(create)" in (defect.help or "")
    look = Linker(Tree({"x.md": "text"}))
    (defect,) = defects("[a](/x.md#y)", look)
    assert defect.help == "Its anchors are: none."


def test_only_what_differs_in_case_alone_can_be_mended() -> None:
    look = Linker(Tree({"docs/guide.md": "", "docs/sub/two words.md": "", "a/x.md": "", "A/x.md": ""}))
    body = "[a](/docs/Guide.md#x)\n[b](/docs/giude.md)\n[c](/A/X.md)\n`docs/GUIDE.md`\n"
    body += "[d](/docs/SUB/)\n[e](/Docs/sub/two%20words.md)\n[f](/docs/sub/Two%20words.md)\n[g](/%44ocs)\n[h](//docs/Sub)"
    assert len(found(body, look)) == 8
    assert look.cases == [
        Case(TASK, 1, "/docs/Guide.md", "/docs/guide.md"),
        Case(TASK, 4, "docs/GUIDE.md", "docs/guide.md"),
        Case(TASK, 5, "/docs/SUB", "/docs/sub"),
    ]


def test_a_relative_path_in_the_wrong_case_is_mended_as_it_is_written() -> None:
    look = Linker(tree())
    found("[a](Guide.md) [b](../docs/Guide.md) [c](../Docs/guide.md)", look, b"docs/index.md")
    assert [(case.written, case.meant) for case in look.cases] == [
        ("Guide.md", "guide.md"),
        ("../docs/Guide.md", "../docs/guide.md"),
        ("../Docs/guide.md", "../docs/guide.md"),
    ]


def test_names_that_are_no_utf8_are_shown_and_never_guessed_at_as_text() -> None:
    look = Linker(tree())
    (defect,) = defects("[a](/docs/%FE.md)", look)
    assert "\\xfe" in defect.message
    assert not look.cases


def test_control_characters_come_out_as_escapes() -> None:
    (defect,) = defects("[a](</docs/\x1b[31m\u202e.md>)")
    assert "\x1b" not in defect.message
    assert "\u202e" not in defect.message
    look = Linker(Tree({"x.md": "<a id='\x1b[31m&#8238;'></a>"}))
    (defect,) = defects("[a](/x.md#y)", look)
    assert "\x1b" not in (defect.help or "")


def test_a_page_is_read_once_however_many_links_lead_there() -> None:
    pages = tree()
    look = Linker(pages)
    found("[a](/docs/guide.md#x) [b](/docs/guide.md#y) [c](/docs/guide.md#L99)\n" * 50, look)
    assert pages.asked == 2, "once for its headings, once for its lines"


@pytest.mark.parametrize(
    "line",
    [
        "[a](#b{})\n",
        "[a](/docs/guide.md#x{})\n",
        "[a](/docs/none{}.md)\n",
        "`docs/none{}.md`\n",
        "# h{}\n\n[a](#z{})\n",
    ],
)
def test_thousands_of_dead_links_take_no_longer_than_their_text(line: str) -> None:
    body = "".join(line.format(number, number) for number in range(1500))
    paths = {f"src/{number % 50}/{'name' * 10}{number}.py": "" for number in range(2000)}
    look = Linker(Tree({"docs/guide.md": GUIDE, **paths}))
    began = time.process_time()
    assert len(look.defects(TASK, body, 1, lambda: body)) == 1500
    assert time.process_time() - began < 5


def test_only_so_many_guesses_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(linking, "nearest", lambda wanted, _known: asked.append(wanted))
    monkeypatch.setattr(linking, "MOST_GUESSES", 3)
    assert len(found("[a](/docs/non.md)\n" * 5, Linker(tree()))) == 5
    assert len(asked) == 3
    monkeypatch.setattr(linking, "MOST_LETTERS", 1)
    found("[a](/docs/non.md)\n" * 5, Linker(tree()))
    assert len(asked) == 4
