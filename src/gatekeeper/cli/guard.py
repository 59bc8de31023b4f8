"""`gatekeeper guard`: may this branch write these paths now? From local refs alone, for hooks."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from gatekeeper.cli.desk import opened
from gatekeeper.errors import GatekeeperError, Refusal, RepositoryUnreadable
from gatekeeper.guarding import Answer, allowed
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gatekeeper.cli.base import World
    from gatekeeper.edges.desk import Desk

MAX_CALL = 64 << 20
"""Bytes of a tool call that are read: a file's whole content may stand in it."""

REFUSED_BY_HOOK = 2
"""A coding agent's hook refuses a tool by this exit status, with the reason on standard error."""

WRITERS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
"""The tools that write a file, and where in their input its path stands."""


@click.command(short_help="May this branch write these paths now? For hooks, before any write.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--staged", is_flag=True, help="The paths are those that are staged.")
@click.option(
    "--hook", type=click.Choice(["claude"]), help="Read a coding agent's tool call from standard input."
)
@click.pass_obj
def guard(world: World, paths: tuple[str, ...], staged: bool, hook: str | None) -> int:
    """Say whether the current branch holds a live claim under base's plan, and these paths are in its authority.

    Nothing is fetched: it answers from this clone's refs, in milliseconds.

    \b
    Exit: 0 they may be written, 1 they may not, 2 that could not be decided.
    Examples:
      gatekeeper guard src/payments/api.py
      gatekeeper guard --staged             in a pre-commit hook
      gatekeeper guard --hook claude        in a PreToolUse hook: exit 2 and a reason refuse
    """
    if hook:
        return _hook(world)
    with opened(world, local=True) as desk:
        wanted = [*_from_root(desk, world.cwd, paths), *(_staged(desk) if staged else [])]
        answer = allowed(desk, wanted, commit=staged)
    _say(answer)
    return 0 if answer.holds else 1


def _say(answer: Answer) -> None:
    for line in answer.lines:
        click.echo(log_text(line), err=not answer.holds)


def _from_root(desk: Desk, cwd: Path, paths: Iterable[str]) -> list[bytes]:
    """What a write to each path would change, from the repository's root; absolute where that is no file of its tree.

    A program may take `..` as the system does, behind a link, or take it out of the text first; it may write
    through a link, or put a file in the link's place. Whatever it does has to be allowed.
    """
    top, git = os.path.realpath(desk.repository.toplevel()), os.path.realpath(desk.repository.common_dir)
    found: dict[bytes, None] = {}
    for path in paths:
        given = os.path.join(cwd, path)  # noqa: PTH118 -- a Path would drop what stands behind a last slash
        for spelt in (given, os.path.normpath(given)):
            folder, name = os.path.split(spelt)
            beside = [os.path.join(os.path.realpath(folder), name)] if name not in ("", ".", "..") else []  # noqa: PTH118
            for real in (os.path.realpath(spelt), *beside):
                mine = real.startswith(f"{top.rstrip('/')}/") and not f"{real}/".startswith(f"{git}/")
                found[os.fsencode(os.path.relpath(real, top) if mine else real)] = None
    return list(found)


def _staged(desk: Desk) -> list[bytes]:
    """The paths whose staged content differs from HEAD, renames as two; in a merge, from what is merged as well.

    What stands again as base has it is left out: what was changed against the rules has to be undone somehow.
    """
    found = _differing(desk, "HEAD") if desk.repository.resolve(["HEAD"]) else _differing(desk)
    if desk.repository.git("rev-parse", "--quiet", "--verify", "MERGE_HEAD").status == 0:
        theirs = set(_differing(desk, "MERGE_HEAD"))
        found = [path for path in found if path in theirs]
    changed = set(_differing(desk, desk.base)) if found else set()
    return [path for path in found if path in changed]


def _differing(desk: Desk, *commit: str) -> list[bytes]:
    index = {k: v for k, v in desk.environ.items() if k == "GIT_INDEX_FILE"}  # a partial commit's own
    flags = ["--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff"]
    done = desk.repository.git_with(index, "diff", *flags, *commit, "--")
    if done.status:
        raise RepositoryUnreadable(f"git can't list what is staged: {done.complaint}", "Run git status.")
    return [path for path in done.out.split(b"\0") if path]


def _hook(world: World) -> int:
    """Answer a coding agent's PreToolUse hook: 0 lets the tool run, 2 and a reason refuse it."""
    try:
        wanted = _written(sys.stdin.buffer.read(MAX_CALL + 1))
        if wanted is None:
            return 0
        path, cwd = wanted
        # Tools take a path without blanks at its ends, and `~` for the home folder.
        home = os.path.expanduser(path.strip())  # noqa: PTH111 -- a Path's raises where there is no such home
        with opened(world, local=True) as desk:
            answer = allowed(desk, _from_root(desk, world.cwd / (cwd or ""), (path, home)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        click.echo("gatekeeper: this is no tool call that a hook is given, so nothing is allowed", err=True)
        return REFUSED_BY_HOOK
    except GatekeeperError as problem:
        click.echo(f"gatekeeper: {log_text(problem.message)}", err=True)
        return REFUSED_BY_HOOK
    _say(answer)
    return 0 if answer.holds else REFUSED_BY_HOOK


def _written(call: bytes) -> tuple[str, str | None] | None:
    """The path that a tool call writes to, and the folder it stands in; None where it writes no file.

    Raises Refusal where the call is too large, and ValueError, KeyError, TypeError, AttributeError or
    RecursionError where it is none.
    """
    if len(call) > MAX_CALL:
        raise Refusal(
            f"a tool call of more than {MAX_CALL >> 20} MiB is not looked at", "Write less at once."
        )
    fields = json.loads(call)
    tool, cwd = fields["tool_name"], fields.get("cwd")
    if not isinstance(tool, str) or not isinstance(cwd, str | None):
        raise TypeError(tool)
    if tool not in WRITERS:
        return None
    path = fields["tool_input"][WRITERS[tool]]
    if not isinstance(path, str) or not path:
        raise TypeError(path)
    return path, cwd
