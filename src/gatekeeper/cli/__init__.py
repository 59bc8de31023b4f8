"""The command line: the group, its commands by name, and the one place where an error becomes an exit status.

A command's module is imported when it is called. Exit: 0 holds, 1 it does not, 2 could not be decided.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TextIO

import click

from gatekeeper import __version__
from gatekeeper.cli.base import World
from gatekeeper.edges import clock
from gatekeeper.edges.leaving import stopping
from gatekeeper.errors import GatekeeperError, Refusal, RepositoryUnreadable, unforeseen
from gatekeeper.report.escape import log_text

COMMANDS = {
    "action": ("gatekeeper.cli.action", "Judge a pull request inside a GitHub Action."),
    "block": ("gatekeeper.cli.move", "Move a task to blocked, and say what it waits for."),
    "cancel": ("gatekeeper.cli.move", "Move a task to cancelled, and say why."),
    "done": ("gatekeeper.cli.move", "Move a task to done, file and header together."),
    "fail": ("gatekeeper.cli.move", "Move a task to failed, and say how it failed."),
    "new": ("gatekeeper.cli.new", "Write a queued task with a fresh id."),
    "regenerate": ("gatekeeper.cli.new", "Begin a task again whose premise was invalid."),
    "claim": ("gatekeeper.cli.claiming", "Claim a task for the current branch."),
    "hooks": ("gatekeeper.cli.hooks", "Git hooks that ask the guard and the gate."),
    "repair": ("gatekeeper.cli.repair", "Find and mend what a crash left in the claim refs."),
    "prune": ("gatekeeper.cli.prune", "Remove tasks that ended longer ago than they are kept."),
    "lint": ("gatekeeper.cli.lint", "Ask the board's rules of the working tree, or of a commit."),
    "release": ("gatekeeper.cli.claiming", "Log the current branch's claim, and free its task and locks."),
    "renew": ("gatekeeper.cli.claiming", "Give the current branch's claim a later expiry."),
    "guard": ("gatekeeper.cli.guard", "May this branch write these paths now? For hooks, before any write."),
    "status": ("gatekeeper.cli.status", "Every task's state: who holds it, on which branch, until when."),
    "steal": ("gatekeeper.cli.claiming", "Take over an expired claim."),
    "check": ("gatekeeper.cli.check", "Decide whether a branch may be merged into its base."),
    "demo": ("gatekeeper.cli.demo", "See the gate at work in a sample repository."),
    "rule": ("gatekeeper.cli.rule", "Explain a code: what it means, what fails, how to mend it."),
}
"""Each command's module (which has a click command of the same name) and its one line of help."""


class Lazy(click.Group):
    """A group that imports a command only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in order."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, imported now."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


class Moment(click.ParamType[datetime]):
    """`--now`: an ISO 8601 moment."""

    name = "ISO"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The moment, aware, in UTC."""
        if isinstance(value, datetime):
            return value
        try:
            return clock.parse_moment(str(value))
        except ValueError:
            self.fail(f"{value!r} is no ISO 8601 moment such as 2026-08-20T12:00:00Z", param, ctx)


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="gatekeeper")
@click.option(
    "--repo",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository; the current folder if none is named.",
)
@click.option("--now", type=Moment(), help="Decide as of this moment, such as 2026-08-20T12:00:00Z.")
@click.pass_context
def cli(ctx: click.Context, repo: Path | None, now: datetime | None) -> None:
    """A wall between coding agents' pull requests and the base branch.

    A pull request passes if it moves exactly one task, queued on base, to done, with a claim
    recorded against its branch, its authority unchanged, and every changed path inside it.

    \b
    Examples:
      gatekeeper check                     judge this branch, as CI will
      gatekeeper check --base origin/main  against another base
      gatekeeper rule GK141                what a finding means
      gatekeeper demo                      see it pass one branch and refuse five
    """
    ctx.obj = World(
        cwd=repo or _here(),
        explicit=repo is not None,
        environ=dict(os.environ),  # noqa: TID251 -- handed on from here
        now=now or clock.now(),
        given=now,
    )


def _here() -> Path:
    """The current folder. Raises RepositoryUnreadable where it was deleted under our feet."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise RepositoryUnreadable(
            "the current folder is gone", "Change to a folder that is there."
        ) from None


def run(args: list[str]) -> int:
    """Run the command with these arguments; its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Reports are UTF-8 wherever they go, and a terminal that can't show a letter is no reason to stop.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        result = cli.main(args, prog_name="gatekeeper", standalone_mode=False)
    except click.exceptions.Abort:
        _say("gatekeeper: stopped")
        return 130
    except click.ClickException as usage:
        _say(*_usage(usage))
        return 2
    except GatekeeperError as problem:
        complain(problem)
        return 1 if isinstance(problem, Refusal) else 2
    except SystemExit:  # click's way out where whoever read our output has gone
        _silence(sys.stdout)
        _silence(sys.stderr)
        return 2
    except OSError as why:
        _silence(sys.stdout)
        complain(unforeseen(why, {}) if why.filename is not None else _unwritten(why))
        return 2
    except Exception as fault:  # noqa: BLE001 -- the one error handler
        complain(unforeseen(fault, os.environ))  # noqa: TID251 -- as above
        return 2
    return result if isinstance(result, int) else 0


def complain(problem: GatekeeperError) -> None:
    """What is wrong, and what to do, on standard error; nothing where it only comes of being told to end."""
    if stopping():
        return
    hint = [f"  {log_text(problem.hint)}"] if problem.hint else []
    _say(f"gatekeeper: error: {log_text(problem.message)}", *hint)


def _say(*lines: str) -> None:
    """Lines on standard error, if anybody takes them: how it ends must not hang on that."""
    try:
        for line in lines:
            click.echo(line, err=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO | None) -> None:
    """Let go what a stream still holds: Python would try again at its end, complain, and turn the exit status."""
    if stream is None:
        return
    with suppress(OSError, ValueError):  # a stream with no file behind it
        handle = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, handle)
        os.close(nowhere)


def _unwritten(why: OSError) -> GatekeeperError:
    """A write to a stream names no file."""
    return GatekeeperError(
        f"the output could not be written: {why.strerror or why}", "See where it is sent to."
    )


def _usage(problem: click.ClickException) -> list[str]:
    """What click says of a wrong call, line by line as it says it; the arguments in it are anybody's."""
    shown = io.StringIO()
    problem.show(shown)
    message = problem.format_message()
    frame = shown.getvalue().removesuffix("\n").removesuffix(message)
    # A group's own help, and the values that an option takes, are texts of ours, in lines.
    ours = isinstance(problem, (click.exceptions.NoArgsIsHelpError, click.MissingParameter))
    text = message.expandtabs(4) if ours else log_text(message)
    return [log_text(line) for line in f"{frame}{text}".split("\n")]
