"""`gatekeeper demo`: the gate at work in a sample repository, on one honest pull request and five others."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatekeeper import demo as sample
from gatekeeper.edges.sandbox import Sandbox
from gatekeeper.report.escape import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatekeeper.cli.base import World

WIDEST = 92
"""Columns of the text, where the terminal has that many."""

NEXT = "`gatekeeper rule GK141` says what a finding means; `gatekeeper check` judges a branch of yours."
ALONE = "`gatekeeper demo --keep DIR` leaves the repository there, to play with."
KEPT = (
    "Mend a branch in it, say by `git switch agent/receipt` and `git checkout main src/search` and "
    "`git commit -am mended`, and run `gatekeeper check --base main`. The claims end in "
    f"{sample.ENDS.seconds // 60} minutes, after which a warning says so."
)

_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_COLOURS = {"pass": "green", "fail": "red", "error": "magenta"}


@click.command(short_help="See the gate at work in a sample repository.")
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Make the repository in DIR, which must be new or empty, and leave it there to play with.",
)
@click.pass_obj
def demo(world: World, keep: Path | None) -> int:
    """See the gate pass an honest pull request, and refuse five that are not.

    A small repository with a board of tasks is made in a temporary folder, or in the one that
    --keep names. Each pull request is a branch in it; each verdict is what `gatekeeper check`
    says of that branch. No network, no git settings and no account are needed.

    Exit: 0 if all six came out as they must, 1 if not, 2 if git could not do it.
    """
    if keep is not None:
        return _show(world, _emptied(keep), kept=True)
    with tempfile.TemporaryDirectory(prefix="gatekeeper-demo-", ignore_cleanup_errors=True) as folder:
        return _show(world, Path(folder) / "bookshop", kept=False)


def _emptied(folder: Path) -> Path:
    """The folder that was named, if it is new or empty."""
    try:
        taken = folder.exists() and any(folder.iterdir())
    except OSError as why:
        raise click.BadParameter(
            f"{str(folder)!r} can't be read: {why.strerror}", param_hint="--keep"
        ) from why
    if taken:
        raise click.BadParameter(f"{str(folder)!r} is not empty: name a new folder", param_hint="--keep")
    return folder


def _show(world: World, folder: Path, *, kept: bool) -> int:
    """Make the repository, judge each pull request, and say how it went; the exit status."""
    _make(world, folder)
    screen = Screen(world.environ)
    screen.say("A bookshop's repository, with a board of five queued tasks in .agents/tasks/queued/.")
    screen.say("Six agents each open a pull request. One of them is honest.")
    outcomes = [_tell(world, folder, screen, number, story) for number, story in enumerate(sample.STORIES, 1)]
    screen.line()
    if all(outcomes):
        passed = sum(not story.must_find for story in sample.STORIES)
        refused = len(outcomes) - passed
        screen.verdict("pass", f"{passed} passed, {refused} refused: all {len(outcomes)} as they must.")
    else:
        screen.verdict("fail", f"{outcomes.count(False)} of {len(outcomes)} did not come out as they must.")
    if kept:
        screen.line(f"The repository is kept in {one_line(str(folder))}")
    screen.say(KEPT if kept else ALONE)
    screen.say(NEXT)
    return 0 if all(outcomes) else 1


def _make(world: World, folder: Path) -> None:
    """The repository: the board, six branches and the claims."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise click.BadParameter(
            f"{str(folder)!r} can't be made: {why.strerror}", param_hint="--keep"
        ) from why
    sandbox = Sandbox(folder, world.environ)
    sandbox.commit([sample.base(world.now), *(story.commit(world.now) for story in sample.STORIES)])
    base = sandbox.tip(sample.BASE)
    for story in sample.STORIES:
        for ref, blob in sample.claim(story, base, world.now):
            sandbox.point([ref], blob)
    sandbox.check_out(sample.BASE)


def _tell(world: World, folder: Path, screen: Screen, number: int, story: sample.Story) -> bool:
    """Tell one story, run the check on its branch, and say what it said; whether that is what it must say."""
    screen.line()
    screen.heading(f"{number}. {story.title}")
    screen.say(story.told, indent="   ")
    args = ["--base", sample.BASE, "--head", story.branch, "--branch", story.branch]
    screen.command(f"gatekeeper check {' '.join(args)}")
    report = _check(world, folder, args)
    for line in _findings(report):
        screen.finding(*line)
    errors = {finding["code"] for finding in report["findings"] if finding["severity"] == "error"}
    if errors == story.must_find and report["verdict"] == ("fail" if story.must_find else "pass"):
        return True
    wanted = ", ".join(sorted(story.must_find)) or "no error"
    screen.verdict("error", f"This is not as it must be: {wanted} was to be found.", indent="   ")
    return False


def _check(world: World, folder: Path, args: list[str]) -> Any:
    """The report of `gatekeeper check`, run in the sample as anybody would run it on a laptop."""
    from gatekeeper.cli.check import check  # noqa: PLC0415 -- the help of this command needs no gate

    environ = {k: v for k, v in world.environ.items() if not k.startswith(("GITHUB_", "INPUT_"))} | _ALONE
    here = world._replace(cwd=folder, explicit=True, environ=environ)
    with tempfile.TemporaryDirectory(prefix="gatekeeper-demo-", ignore_cleanup_errors=True) as beside:
        report = Path(beside) / "report.json"
        check.main([*args, "--format", "json", "--output", str(report)], obj=here, standalone_mode=False)
        return json.loads(report.read_text(encoding="utf-8"))


def _findings(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """What the report says, a finding a row: verdict, headline, text, help."""
    verdict = report["verdict"]
    if not report["findings"]:
        yield (
            verdict,
            "it may merge",
            f"{report['changed_paths']} paths changed, all inside the task's authority",
            "",
        )
    for finding in report["findings"]:
        text, path = finding["message"], finding["path"]
        told = text if path is None or path in text else f"{path}: {text}"
        yield verdict, f"{finding['code']} {finding['name']}", told, finding["help"] or ""


class Screen:
    """Where the demonstration is written: wrapped to the terminal, in colours where one looks at it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        import shutil  # noqa: PLC0415 -- the help of this command needs none

        self._width = max(40, min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST))
        self._colour = False if environ.get("NO_COLOR") else None

    def line(self, text: str = "") -> None:
        """One line as it is."""
        click.echo(text, color=self._colour)

    def say(self, text: str, indent: str = "", first: str | None = None) -> None:
        """A paragraph."""
        begin = indent if first is None else first
        self.line(click.wrap_text(text, self._width, initial_indent=begin, subsequent_indent=indent))

    def heading(self, text: str) -> None:
        """What comes next."""
        self.line(click.style(text, bold=True))

    def command(self, text: str) -> None:
        """A command as it would be typed."""
        self.line(click.style(f"   $ {text}", dim=True))

    def verdict(self, kind: str, text: str, indent: str = "") -> None:
        """A sentence in the colour of its verdict."""
        self.line(indent + click.style(text, fg=_COLOURS[kind], bold=True))

    def finding(self, verdict: str, headline: str, text: str, hint: str) -> None:
        """One finding: the verdict and its rule, what is wrong, and what to do."""
        self.line(f"   {click.style(verdict.upper(), fg=_COLOURS[verdict], bold=True)}  {headline}")
        self.say(text, indent="         ")
        if hint:
            self.say(hint, indent="               ", first="         help: ")
