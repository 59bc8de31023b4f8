"""The benchmark of lint: whole boards, and its link check beside that of two npm packages over the same files.

    python bench/lint.py [--runs N] [--output bench-lint.json]

`lint` is timed on boards of 1,000 and 10,000 tasks, `lint --links-only` beside `remark-validate-links` and
`markdown-link-check` on all Markdown files of those boards; neither asks the network. Everything is timed as a whole
process, interleaved, after a warm-up of which the answers are looked at. What leads nowhere is known (`lintboards`):
an answer of ours that is not exactly that ends the run, and so every broken link that another tool finds is found.
Nothing fails here because it was slow. Without npm, or where it brings no packages, ours is timed alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import lintboards
from run import Timed, environment, once, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lintboards import Board, Planted

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NPM = (
    ROOT
    / "build"
    / "bench-npm"
    / hashlib.sha256((HERE / "npm" / "package-lock.json").read_bytes()).hexdigest()[:16]
)
FILES = [".agents/tasks", "docs"]
MEMORY_GOAL = 300.0
PATIENCE = 60.0  # seconds
GATEKEEPER = [str(Path(sys.executable).with_name("gatekeeper")), "--now", lintboards.NOW.isoformat(), "lint"]
OURS = "gatekeeper lint --links-only"
_DEAD = re.compile(r" found in (?P<path>.+) !$|^  \[.\] (?P<link>.*) → Status: ")
_WARNING = re.compile(r"^ *[0-9]+:[0-9]+")

Said = dict[str, list[str]]
"""What a tool has to say of each file, message by message."""


class Tool(NamedTuple):
    """A link check: its command, and how what it prints is read."""

    command: list[str]
    read: Callable[[str], Iterator[tuple[str, str]]]


# -- the tools ---------------------------------------------------------------------------------------


def ours(text: str) -> Iterator[tuple[str, str]]:
    """Path and message of each finding of our report."""
    for finding in json.loads(text)["findings"]:
        yield finding["path"], f"{finding['code']} {finding['message']}"


def remark(text: str) -> Iterator[tuple[str, str]]:
    """The same of remark's report: a line for each file, and below it one for each warning."""
    path = ""
    for line in text.splitlines():
        if _WARNING.match(line):
            yield path, line.strip()
        elif line:
            path = line


def markdown_link_check(text: str) -> Iterator[tuple[str, str]]:
    """The same of markdown-link-check's report: the number of dead links of a file, and below it each of them."""
    path = ""
    for line in text.splitlines():
        if found := _DEAD.search(line):
            path = found["path"] or path
            if found["link"] is not None:
                yield path, unquote(found["link"])


def installed() -> bool:
    """Whether npm's packages are in build/, put there now if they are not. Says so where they can't be had."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        print("there is no npm here, so the link check is not compared with that of any npm package")
        return False
    shutil.copytree(HERE / "npm", NPM, dirs_exist_ok=True)
    if (NPM / "whole").exists():
        return True
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]
    done = subprocess.run(
        [npm, "ci", *flags], cwd=NPM, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        print("npm brought no packages, so the link check is not compared with that of any:")
        print(done.stderr.decode(errors="replace")[-500:])
        return False
    (NPM / "whole").touch()
    return True


def tools() -> dict[str, Tool]:
    """The link checks that are here, ours first, each in the way that it is meant to be called for a whole repository."""
    found = {OURS: Tool([*GATEKEEPER, "--links-only", "--format", "json", *FILES], ours)}
    if installed():
        modules = NPM / "node_modules"
        cli, rc = str(modules / "remark-cli" / "cli.js"), str(NPM / "remark.json")
        flags = ["--no-config", "--rc-path", rc, "--no-stdout", "--no-color", "--quiet"]
        found["remark-validate-links"] = Tool(["node", cli, *flags, *FILES], remark)
        cli, config = (
            str(modules / "markdown-link-check" / "markdown-link-check"),
            str(NPM / "markdown-link-check.json"),
        )
        found["markdown-link-check"] = Tool(
            ["node", cli, "--quiet", "--config", config, *FILES], markdown_link_check
        )
    return found


# -- what they say -----------------------------------------------------------------------------------


def said(tool: Tool, board: Board) -> Said:
    """What a tool says of a board's links."""
    with tempfile.TemporaryFile() as into:
        once(tool.command, board.folder, environment(), into=into, holds=(0, 1))
        into.seek(0)
        found: Said = {}
        for path, message in tool.read(into.read().decode()):
            found.setdefault(path, []).append(message)
        return found


class Score(NamedTuple):
    """How a tool did: broken links found, of so many; what is yet to be made taken for broken; what leads somewhere, too."""

    found: int
    of: int
    to_be_made: int
    wrong: tuple[str, ...]


def score(says: Mapping[str, list[str]], planted: Mapping[str, Planted]) -> Score:
    """Hold what a tool says against what is planted."""
    right, made, wrong = set(), set(), []
    for path, messages in says.items():
        for message in messages:
            plant = planted.get(path)
            if plant is None or plant.mark not in message:
                wrong.append(f"{path}: {message}")
            else:
                (made if plant.kind is None else right).add(path)
    broken = sum(plant.kind is not None for plant in planted.values())
    return Score(len(right), broken, len(made), tuple(wrong))


def judged(board: Board, link_checks: Mapping[str, Tool]) -> dict[str, Score]:
    """How each tool does on a board. Ends the run where ours finds anything else than what is planted."""
    planted = {plant.path: plant for plant in board.planted}
    scores = {name: score(said(tool, board), planted) for name, tool in link_checks.items()}
    exact(scores[OURS], f"{OURS} in {board.folder}")
    opened = {path: plant for path, plant in planted.items() if "/queued/" in path or "/blocked/" in path}
    whole = Tool([*GATEKEEPER, "--format", "json"], ours)
    exact(score(said(whole, board), opened), f"gatekeeper lint in {board.folder}")
    return scores


def exact(ours: Score, what: str) -> None:
    """End the run where a score is not the best."""
    if ours.found < ours.of or ours.to_be_made or ours.wrong:
        raise SystemExit(f"{what} answers wrongly: {ours}")


# -- time --------------------------------------------------------------------------------------------


def measure(boards: list[Board], link_checks: Mapping[str, Tool], runs: int) -> dict[tuple[int, str], Timed]:
    """Time everything, interleaved: link checks of the larger board a third as often, what takes a minute only once."""
    env = environment()
    timed: dict[tuple[int, str], Timed] = defaultdict(Timed)
    commands = {"lint": [*GATEKEEPER, "--format", "json"]}
    commands |= {name: tool.command for name, tool in link_checks.items()}
    with Path(os.devnull).open("wb") as nowhere:
        for number, board, (name, command) in product(range(runs), boards, commands.items()):
            one = timed[board.tasks, name]
            seldom = name != "lint" and board is not boards[0] and number % 3
            if not (seldom or (one.seconds and one.seconds[0] > PATIENCE)):
                seconds, memory = once(command, board.folder, env, into=nowhere, holds=(0, 1))
                one.seconds.append(seconds)
                one.memory = max(one.memory, memory)
    return timed


def seconds(one: Timed) -> str:
    """The median, and the fastest and slowest run."""
    return f"{one.median / 1000:.2f} ({min(one.seconds):.2f} to {max(one.seconds):.2f})"


def board_rows(timed: Mapping[tuple[int, str], Timed], boards: list[Board]) -> list[tuple[str, ...]]:
    """The table of whole boards, head first."""
    table: list[tuple[str, ...]] = [("tasks", "open", "lint, s", "a task, ms", "peak, MB", "runs")]
    for board in boards:
        one = timed[board.tasks, "lint"]
        fits = "<" if one.memory < MEMORY_GOAL else "≥ MISSED"
        each = f"{one.median / board.tasks:.2f}"
        peak = f"{one.memory:.0f} {fits} {MEMORY_GOAL:.0f}"
        table.append((f"{board.tasks:,}", str(board.opened), seconds(one), each, peak, str(len(one.seconds))))
    return table


def link_rows(
    timed: Mapping[tuple[int, str], Timed], scores: Mapping[int, Mapping[str, Score]]
) -> list[tuple[str, ...]]:
    """The table of link checks, head first."""
    table: list[tuple[str, ...]] = [
        (
            "files",
            "link check",
            "s",
            "ours :",
            "broken found",
            "(create) taken for broken",
            "good ones, too",
            "peak, MB",
            "runs",
        )
    ]
    for tasks, found in scores.items():
        best = timed[tasks, OURS].median
        for name, result in found.items():
            one = timed[tasks, name]
            ratio = (
                ""
                if name == OURS
                else f"{best / one.median:.2f} {'<' if best < one.median else '≥ MISSED'} 1"
            )
            counts = (f"{result.found} of {result.of}", str(result.to_be_made), str(len(result.wrong)))
            files = f"{tasks + lintboards.DOCUMENTS:,}"
            table.append(
                (files, name, seconds(one), ratio, *counts, f"{one.memory:.0f}", str(len(one.seconds)))
            )
    return table


def growth(timed: Mapping[tuple[int, str], Timed], boards: list[Board]) -> float:
    """How many times as long the larger board takes, for each time that it is larger: at most 1 is linear."""
    small, large = boards[0].tasks, boards[-1].tasks
    return timed[large, "lint"].median / timed[small, "lint"].median / (large / small)


def document(
    timed: Mapping[tuple[int, str], Timed], scores: Mapping[int, Mapping[str, Score]]
) -> dict[str, object]:
    """Everything that was measured, as `bench-lint.json` has it."""
    return {
        "version": 1,
        "goal": {"peak_mb": MEMORY_GOAL},
        "boards": {str(tasks): one.plain() for (tasks, name), one in timed.items() if name == "lint"},
        "link_checks": {
            str(tasks): {
                name: timed[tasks, name].plain() | result._asdict() for name, result in found.items()
            }
            for tasks, found in scores.items()
        },
    }


def main() -> None:
    """Make the boards, look at the answers, measure, print, write."""
    options = argparse.ArgumentParser(description="Time gatekeeper lint, and its link check beside others.")
    options.add_argument("--runs", type=int, default=7, help="how often each command is timed")
    options.add_argument("--output", type=Path, default=ROOT / "bench-lint.json")
    chosen = options.parse_args()
    boards = lintboards.made(ROOT / "build" / "bench-lint")
    link_checks = tools()
    scores = {board.tasks: judged(board, link_checks) for board in boards}
    timed = measure(boards, link_checks, max(chosen.runs, 1))
    show(board_rows(timed, boards))
    print(f"ten times the tasks take {10 * growth(timed, boards):.1f} times as long\n")
    show(link_rows(timed, scores))
    chosen.output.write_text(json.dumps(document(timed, scores), indent=2) + "\n")
    print(f"written to {chosen.output}")


if __name__ == "__main__":
    main()
