"""Boards as they are found in the wild, and worse: whatever a file holds, lint says what is wrong with it, and soon."""

from __future__ import annotations

import os
import time
from datetime import date
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Sample
from gatekeeper import rules
from gatekeeper.boards.board import Board, Decision, ProposalFile
from gatekeeper.fixing import with_fields, with_links
from gatekeeper.gate import ask
from gatekeeper.linking import Linker
from gatekeeper.model import FOLDER, REGULAR
from gatekeeper.plan import parse_manifest, parse_plan, parse_proposal
from gatekeeper.policy import DEFAULT
from gatekeeper.taskfile import parse_task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gatekeeper.model import Finding

ROOM = ".agents/tasks/"
ID = "T-20260301-{:08x}"


def task(
    number: int, more: str = "", *, state: str = "queued", paths: str = "[docs/x.md]", body: str = ""
) -> str:
    """A task's file that holds, if nothing more is said."""
    return (
        f"---\nid: {ID.format(number)}\nstatus: {state}\ntitle: Number {number}\nclassification: feature\n{more}"
        f"locks: [all]\nauthority:\n  paths: {paths}\n---\n# Number {number}\n\n## Acceptance\nIt works.\n{body}"
    )


def windows(text: str) -> bytes:
    """A text as some editors save it."""
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()


WILD: dict[str, tuple[bytes, set[str]]] = {
    f"queued/{ID.format(0x01)}.md": (windows(task(0x01, body="[x](/docs/x.md)\n")), set()),
    f"queued/{ID.format(0x02)}.md": (task(0x02, paths="[**/*.py]").encode(), {"GK201"}),
    f"queued/{ID.format(0x03)}.md": (task(0x03, paths="\n    - *.md").encode(), {"GK201"}),
    f"queued/{ID.format(0x04)}.md": (task(0x04, "assignee: @ada\n").encode(), {"GK201"}),
    f"queued/{ID.format(0x05)}.md": (task(0x05, "reason: Fix: the thing\n").encode(), {"GK201"}),
    f"queued/{ID.format(0x06)}.md": (task(0x06, "\tpriority: 1\n").encode(), {"GK201"}),
    f"queued/{ID.format(0x07)}-a → b.md": (task(0x07).encode(), set()),
    f"queued/{ID.format(0x08)} copy.md": (task(0x08).encode(), {"GK223"}),
    f"queued/{ID.format(0x09)}-\udcff.md": (task(0x09, body="[x](/docs/none.md)\n").encode(), {"GK241"}),
    "queued/My task → done?.md": (b"# My task\n\n- [ ] later\n", {"GK201"}),
    "queued/TODO (2).md": (b"", {"GK201"}),
    f"queued/{ID.format(0x0A)}.md": (task(0x0A).replace("\n", "\r").encode(), {"GK201"}),
    f"queued/{ID.format(0x0B)}.md": (task(0x0B).encode("utf-16"), {"GK201"}),
    f"queued/{ID.format(0x0C)}.md": (task(0x0C).replace("---", "+++").encode(), {"GK201"}),
    f"queued/{ID.format(0x0D)}.md": (task(0x0D, "created: 2026-3-1\n").encode(), {"GK204"}),
    f"queued/{ID.format(0x0E)}.md": (task(0x0E, "priority: high\ndepends-on: []\n").encode(), {"GK204", "GK205"}),
    f"queued/{ID.format(0x0F)}.md": (task(0x0F).replace("Number", "🚀 Café “x”").encode(), set()),
    f"queued/{ID.format(0x10)}.md": (b"\n" + task(0x10).encode(), {"GK201"}),
    f"queued/{ID.format(0x11)}.md": (task(0x11, body="[w](docs\\x.md) [C](C:\\x.md) `docs\\x.md`\n").encode(), {"GK241"}),
    f"queued/{ID.format(0x12)}.md": (task(0x12, paths="['docs\\x.md', './docs', '/docs', '~/x']").encode(), {"GK251", "GK253"}),
    f"done/{ID.format(0x13)}.md": (task(0x13, state="done").encode(), set()),
    f"done/archive/{ID.format(0x13)}.md": (task(0x13, state="done").encode(), {"GK212"}),
    f"failed/{ID.format(0x13)}-again.md": (task(0x13, "failure: spec-gap\n", state="failed").encode(), {"GK224"}),
    f"cancelled/{ID.format(0x14)}.md": (task(0x14, "reason: |\n  two\n  lines\n", state="cancelled").encode(), {"GK264"}),
    f"backlog/{ID.format(0x15)}.md": (task(0x15).encode(), {"GK212"}),
    ".DS_Store": (b"\0\0\0\1Bud1", {"GK212"}),
    "queued/.gitkeep": (b"", set()),
    "README.md": (b"# Tasks\n", set()),
}  # fmt: skip


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    sample = Sample(tmp_path_factory.mktemp("wild"), [])
    sample.write("docs/x.md", "# X\n")
    for name, (data, _) in WILD.items():
        sample._room(ROOM + name).write_bytes(data)
    return sample


@pytest.mark.parametrize("committed", [False, True], ids=["working tree", "commit"])
def test_each_file_of_a_wild_board_is_told_what_is_wrong_with_it(wild: Sample, committed: bool) -> None:
    if committed:
        wild.commit("wild")
    done = wild.lint(*(["--tree", "HEAD"] if committed else []))
    found: dict[str, set[str]] = {name: set() for name in WILD}
    for finding in done.report["findings"]:
        assert finding["help"], finding
        name = finding["path"].removeprefix(ROOM).replace("\\xff", "\udcff")
        found[name].add(finding["code"])
    assert found == {name: codes for name, (_, codes) in WILD.items()}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (0x02, "quoted"),
        (0x03, "quoted"),
        (0x04, "quoted"),
        (0x05, "quoted"),
        (0x0B, "UTF-8"),
        (0x0E, "whole number"),
    ],
)
def test_the_usual_slips_are_told_how_to_mend_them(wild: Sample, name: int, word: str) -> None:
    findings = wild.lint(f"{ROOM}queued/{ID.format(name)}.md").report["findings"]
    assert any(word in f["message"] + f["help"] for f in findings)


def test_no_format_and_no_mend_stumbles_over_it(wild: Sample) -> None:
    before = {
        path: path.read_bytes()
        for path in wild.path.rglob("*")
        if path.is_file() and ".git/" not in str(path)
    }
    for form in ("text", "sarif", "github", "markdown"):
        assert wild.call("lint", "--format", form).status == 1
    wild.lint("--fix")
    after = {path: path.read_bytes() for path in before}
    mended = {os.fsencode(path.name) for path in before if before[path] != after[path]}
    assert mended == {f"{ID.format(0x0E)}.md".encode()}, "depends-on can be depends_on alone"


# -- whatever a file holds -----------------------------------------------------------------------------

PATH = f"{ROOM}queued/{ID.format(1)}.md".encode()
TODAY = date(2026, 3, 10)
HEAD = task(1).partition("---\n# ")[0]


class Tree:
    """A small tree in memory."""

    files = (b"Docs/y.md", b"docs/x.md", b"src/a.py")

    def entry(self, path: bytes) -> tuple[int, str] | None:
        if path in self.files:
            return REGULAR[0], "blob"
        return (FOLDER, "tree") if not path or any(f.startswith(path + b"/") for f in self.files) else None

    def text(self, oid: str) -> bytes | None:
        return oid.encode()

    def paths(self) -> Sequence[bytes]:
        return self.files


def judged(data: bytes) -> list[Finding]:
    """What every rule says of a board that is this one file, whatever kind of file it is taken for; and it is mended."""
    read = parse_task(PATH, data, state="queued", classifications=DEFAULT.classifications, today=TODAY)
    look = Linker(Tree())
    links = look.defects(PATH, read.body, read.body_line, lambda: data.decode("utf-8", "replace"))
    plan, plan_defects = parse_plan(b"plan.md", data)
    manifest, manifest_defects = parse_manifest(b"manifest.yml", data)
    board = Board(
        (read,),
        {read.id: (("queued", PATH),)},
        plan,
        b"plan.md",
        plan_defects,
        manifest,
        b"manifest.yml",
        manifest_defects,
        (ProposalFile(b"p.md", *parse_proposal(b"p.md", data)),),
        (Decision(b"d.md", data.decode("utf-8", "replace")),),
        today=TODAY,
        links={PATH: links},
        paths=Tree.files,
    )
    found = list(ask(rules.BOARD, board, DEFAULT))
    mended, _ = with_fields(PATH, data, TODAY)
    mended, _ = with_links(mended, look.cases)
    assert with_fields(PATH, mended, TODAY) == (mended, []), "mending twice mends no more"
    return found


WORDS = [
    "---\n", "\n", "\r\n", "\r", "\ufeff", "\0", "\t", " ", "  ", "é", "\u2028", "\ud800",
    "id: ", "lock: [a]", "locks", "status: ", "queued", "created: 2026-03-02\n", "authority:\n  paths:\n", "- ", "reason: |\n ",
    "depends_on: [", "]", "T-20260301-00000001", "{", "}", ",", ": ", "? ", "&a ", "*a", "!t ", "'", '"', "\\", "#", "# ", "## accept\n",
    "[x]", "(/docs/X.md)", "(docs/x.md#L1)", "![", "](", "`docs/X.md`", "`", "```\n", "<!--", "-->", "<a id=x>", "> ", "1. ", "|", "|-|\n",
    "(new)", "%2F", "%", "&amp;", "**", "_", "~~", "[^1]: ", "=\n", "milestones: [{id: a, tasks: [b]}]\n", "revision: 1\n",
]  # fmt: skip
TEXT = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=60).map("".join)
BODIES = TEXT.map(lambda text: HEAD + "---\n" + text)
HEADERS = TEXT.map(lambda text: HEAD + text + "\n---\n# x\n")
FILES = st.one_of(
    st.binary(max_size=300),
    st.one_of(TEXT, BODIES, HEADERS).map(lambda t: t.encode("utf-8", "surrogatepass")),
)


@settings(max_examples=300, deadline=None)
@given(FILES)
def test_no_file_makes_a_traceback(data: bytes) -> None:
    for finding in judged(data):
        assert finding.message.strip()


SIZE = 1 << 18
REPEATED = [
    "a", "[", "[a](", "[a](/b)\n", "[a](/docs/X.md)\n", "[a](#b)\n", "[a](/docs/x.md#b)\n", "`a/b`", "`docs/X.md`\n", "`", "``a`",
    "*a_", "> ", "- ", "# a\n", "a|b\n-|-\n", "|a", "<", "<!--", "<a ", "&amp;", "\\", "![", "[a]: /b\n", "[a][b]", "\r", "\n", "é",
    "```\n", "<h1 id=a>", "(new)", "%41", "](", "[a](<", "[a](/b 'c", "[^1]: x\n",
]  # fmt: skip
HEADED = [
    "a{0}: b\n",
    "lock{0}: [a]\n",
    "- ",
    "[",
    "{{",
    "&a ",
    "*a ",
    "? ",
    "'",
    '"',
    "x: >\n a\n",
    "title{0}: {0}\n",
]


def seconds(text: str) -> float:
    """How long the file of this text takes."""
    began = time.process_time()
    judged(text.encode())
    return time.process_time() - began


@pytest.mark.parametrize("piece", REPEATED)
def test_no_body_takes_long(piece: str) -> None:
    for size in (SIZE, SIZE // 8):
        assert seconds(f"{HEAD}---\n{piece * (size // len(piece))}") < 4, (
            "a second per MiB, on a machine that is busy"
        )


@pytest.mark.parametrize("piece", HEADED)
def test_no_header_takes_long(piece: str) -> None:
    lines = "".join(piece.format(number) for number in range(60_000 // (len(piece) + 8)))
    assert seconds(f"{HEAD}{lines}\n---\n# x\n") < 4


@pytest.mark.parametrize(
    "patterns",
    [
        ",".join(f"a{n}/**/b*{n}" for n in range(3_300)),
        ",".join(f'"{"*a" * 300}{n}"' for n in range(100)),
        ",".join(f'"{"**/a*/" * 120}{n}"' for n in range(70)),
        ",".join(f"a{n}" for n in range(8_500)),
    ],
    ids=["many", "stars", "deep", "plain"],
)
def test_no_authority_takes_long(patterns: str, tmp_path: Path) -> None:
    assert seconds(task(1, paths=f"[{patterns}]")) < 4
    sample = Sample(tmp_path, [])
    for number in range(8):
        sample.write(
            f"{ROOM}queued/{ID.format(number)}.md", task(number, paths=f"[{patterns}]").replace("[all]", "[]")
        )
    began = time.process_time()
    assert "GK253" in sample.lint().codes
    assert time.process_time() - began < 15
