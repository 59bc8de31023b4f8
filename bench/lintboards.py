"""Makes the boards that lint is timed on: tasks as they are written, documents, and links that lead nowhere on purpose.

A few in a hundred tasks are open, as on a board that is long in use; the others ended within the days that the policy
retains them, a few with each commit. What is broken is known link by link (`Planted`), so that no tool has to be
believed. Everything is the same every time, but for the time that making it takes.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import repositories
from repositories import commit, file, git, import_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
SIZES = (1_000, 10_000)
DOCUMENTS, PARTS, FILES = 40, 500, 4  # of files that links lead to, as many on every board
UP = "../../../"
ENDED = ("done", "done", "done", "done", "done", "done", "failed", "cancelled")
WITH_EACH_COMMIT = 10  # tasks that end
RETAINED = timedelta(days=29)
WORDS = (
    "retry payment ledger the a of to and queue when fails again before after limit window token cache reader "
    "writer each entry order refund bank answer slow clock skew table index key migration page"
)
BROKEN = (
    ("gone-{n}", "[it]({up}docs/gone-{n}.md)"),
    ("gone-{n}", "[it](/docs/gone-{n}.md)"),
    ("no-such-part-{n}", "[it]({up}docs/guide-{doc}.md#no-such-part-{n})"),
    ("nowhere-{n}", "[it](#nowhere-{n})"),
    ("gone-{n}", "![it]({up}docs/pictures/gone-{n}.png)"),
    ("gone-{n}", "[it][that]\n\n[that]: {up}docs/gone-{n}.md\n"),
    ("Guide-{doc}", "[it]({up}docs/Guide-{doc}.md)"),
    ("gone {n}", "[it](<{up}docs/gone {n}.md>)"),
    ("gone-{n}", "[it]({up}src/area1/gone-{n}/)"),
    ("gone_{n}", "`src/area1/gone_{n}.py`"),  # a path in a code span is a link to this project alone
)
"""What a message on it has to hold, and a link that leads nowhere."""


class Planted(NamedTuple):
    """A link that leads nowhere in the file `path`; a message on it holds `mark`. `kind` is its number in BROKEN.

    Without a kind it is marked as what the task is to make, and so is none.
    """

    path: str
    mark: str
    kind: int | None


class Board(NamedTuple):
    """A repository with its working tree, how many of its tasks are open, and what is broken on it."""

    folder: Path
    tasks: int
    opened: int
    planted: tuple[Planted, ...]


class Task(NamedTuple):
    """A task's path, its text, and what is planted in it."""

    path: str
    text: str
    planted: Planted | None


# -- texts -----------------------------------------------------------------------------------------


def source(part: int, number: int) -> str:
    """The path of a source file."""
    return f"src/area{part % 20}/part{part}/file{number}.py"


def link(dice: random.Random, up: str) -> str:
    """A link, a picture or a code span that leads somewhere, or nothing of the kind."""
    doc, part = dice.randrange(DOCUMENTS), dice.randrange(1, 8)
    code = source(dice.randrange(PARTS), dice.randrange(FILES))
    return dice.choice(
        (
            f"[the guide]({up}docs/guide-{doc}.md)",
            f"[part {part}]({up}docs/guide-{doc}.md#part-{part}-of-guide-{doc})",
            f"[steps]({up}docs/guide-{doc}.md#steps-1)",
            f"[the guide](/docs/guide-{doc}.md#run-retry-now)",
            f"[the code]({up}{code})",
            f"![a picture]({up}docs/pictures/flow.png)",
            "[the site](https://example.com/a/b#c)",
            f"`{code}`",
            f"`{code}`",
            "`retry(attempts=3)`",
            "*never*",
            "again",
        )
    )


def sentence(dice: random.Random, inside: str) -> str:
    """Words with something among them."""
    words = dice.choices(WORDS.split(), k=dice.randint(8, 22))
    words.insert(dice.randint(1, 7), inside)
    return " ".join(words) + "."


def lines(dice: random.Random, up: str, before: str = "") -> str:
    """A few lines of text, or of a list, with links among them."""
    return "".join(f"{before}{sentence(dice, link(dice, up))}\n" for _ in range(dice.randint(2, 5)))


def document(number: int) -> str:
    """A document with headings of all kinds, some of them twice, and links to others."""
    dice = random.Random(f"document {number}")
    text = f"# Guide {number}\n\n"
    for part in range(1, 8):
        text += f"## Part {part} of guide {number}\n\n{lines(dice, '../')}\n### Steps\n\n{lines(dice, '../', '1. ')}\n"
    return f"{text}## Run `retry()` *now*\n\nBack to the [top](#guide-{number}).\n"


def body(number: int, extra: str) -> str:
    """A task's text, with what is planted in it."""
    dice, box = random.Random(f"task {number}"), "- [ ] "
    fence = "```python\nfrom src.area0 import none  # [no link](src/none/a.md)\nopen('src/none/b.py')\n```\n"
    return (
        f"# Task number {number}\n\n## Context\n\n{lines(dice, UP)}\n{extra}\n{lines(dice, UP)}\n"
        f"## What to do\n\n{lines(dice, UP, box)}\n{fence if number % 3 else lines(dice, UP)}\n"
        f"## Acceptance criteria\n\n{lines(dice, UP, box)}\n"
        "## Evidence\n\n<!-- what the tests print, such as [this](none/log.txt) -->\n"
    )


# -- tasks -----------------------------------------------------------------------------------------


def plant(number: int, path: str) -> tuple[str, Planted | None]:
    """A text that one task in forty has, which leads nowhere; one in fifty has what leads nowhere yet."""
    if number % 40 == 0:
        kind = number // 40 % len(BROKEN)
        mark, text = (part.format(n=number, doc=number % DOCUMENTS, up=UP) for part in BROKEN[kind])
        return f"What is known of {text}\n", Planted(path, mark, kind)
    if number % 50 == 1:
        return f"Write [a page]({UP}docs/new-{number}.md) (create) on it.\n", Planted(
            path, f"new-{number}", None
        )
    return "", None


def task(number: int, count: int) -> Task:
    """The task of that number of so many, the open ones first, each with files of its own."""
    opened = number < count // 25
    state = ("blocked" if number % 8 == 7 else "queued") if opened else ENDED[number % len(ENDED)]
    day = NOW - timedelta(days=1 + number * 80 // count)
    name = f"T-{day:%Y%m%d}-{number:08x}"
    extra = {"failed": "failure: spec-gap\n"}.get(
        state, "reason: waits for an answer\n" if state in ("blocked", "cancelled") else ""
    )
    path = f".agents/tasks/{state}/{name}.md"
    text, planted = plant(number, path)
    part = number % PARTS
    head = (
        f"---\nid: {name}\ntitle: Task number {number}\nstatus: {state}\nclassification: feature\n"
        f"created: {day:%Y-%m-%d}\npriority: {number % 90}\nassignee: any\nlocks: [area-{part}]\n{extra}"
        f"authority:\n  paths:\n    - src/area{part % 20}/part{part}/**\n"
        f"  forbid:\n    - src/area{part % 20}/part{part}/file0.py\n---\n"
    )
    return Task(path, head + body(number, text), planted)


def history(tasks: list[Task]) -> Iterator[str]:
    """The documents, the code and what is open; then one commit after another that ends a few tasks."""
    opened = len(tasks) // 25
    yield from commit("main", int((NOW - timedelta(days=90)).timestamp()), "The code, and what is to be done")
    yield file(".github/gatekeeper.yml", repositories.POLICY)
    yield file("docs/pictures/flow.png", "a picture\n")
    for number in range(DOCUMENTS):
        yield file(f"docs/guide-{number}.md", document(number))
    for part in range(PARTS):
        yield from (file(source(part, n), f"def answer():\n    return {part}\n") for n in range(FILES))
    yield from (file(one.path, one.text) for one in tasks[:opened])
    for at in range(opened, len(tasks), WITH_EACH_COMMIT):
        when = NOW - RETAINED + RETAINED * at / len(tasks)
        yield from commit("main", int(when.timestamp()), f"Tasks from {at} on")
        yield from (file(one.path, one.text) for one in tasks[at : at + WITH_EACH_COMMIT])


def make(folder: Path, count: int) -> None:
    """Make a board of so many tasks, and write beside it what is planted."""
    folder.mkdir(parents=True)
    tasks = [task(number, count) for number in range(count)]
    git(folder, "init", "--quiet", "--initial-branch=main")
    import_stream(folder, history(tasks))
    git(folder, "reset", "--quiet", "--hard", "main")
    planted = [one.planted for one in tasks if one.planted]
    folder.with_suffix(".json").write_text(json.dumps(planted))


def make_all(here: Path) -> None:
    """Make every board below a folder, in the place of whatever earlier runs left beside it."""
    shutil.rmtree(here.parent, ignore_errors=True)
    for count in SIZES:
        print(f"making a board of {count:,} tasks", flush=True)
        make(here / str(count), count)
    (here / "whole").touch()


def opened(here: Path, count: int) -> Board:
    """A board that was made."""
    folder = here / str(count)
    planted = json.loads(folder.with_suffix(".json").read_text())
    return Board(folder, count, count // 25, tuple(Planted(*one) for one in planted))


def made(folder: Path) -> list[Board]:
    """Every board, made anew unless it is there from an earlier run of this very source.

    What makes a process large stays out of the one that asks: a child's peak memory is never less than its parent's.
    """
    here = folder / hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    if not (here / "whole").exists():
        subprocess.run([sys.executable, __file__, str(here)], check=True)
    return [opened(here, count) for count in SIZES]


if __name__ == "__main__":
    make_all(Path(sys.argv[1]))
