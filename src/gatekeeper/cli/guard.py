"""`gatekeeper guard`: may this branch write these paths now? From local refs alone, for hooks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatekeeper.cli.desk import opened
from gatekeeper.errors import GatekeeperError, RepositoryUnreadable
from gatekeeper.guarding import Answer, allowed
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatekeeper.cli.base import World
    from gatekeeper.edges.desk import Desk

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
        answer = allowed(desk, wanted)
    _say(answer)
    return 0 if answer.holds else 1


def _say(answer: Answer) -> None:
    for line in answer.lines:
        click.echo(log_text(line), err=not answer.holds)


def _from_root(desk: Desk, cwd: Path, paths: Iterable[str]) -> list[bytes]:
    """Paths as given, from the repository's root; both as they read and as the file system resolves them."""
    top = desk.repository.toplevel()
    found: list[bytes] = []
    for path in paths:
        plain = os.path.normpath(cwd / path)
        for spelt in dict.fromkeys((plain, os.path.realpath(plain))):
            root = os.path.realpath(top) if spelt != plain else os.fspath(top)
            inside = os.path.relpath(spelt, root)
            if inside == ".." or inside.startswith("../"):
                inside_real = os.path.relpath(os.path.realpath(spelt), os.path.realpath(top))
                inside = inside_real
            found.append(os.fsencode(inside))
    return list(dict.fromkeys(found))


def _staged(desk: Desk) -> list[bytes]:
    """The paths whose staged content differs from HEAD, renames as two; in a merge, from what is merged as well."""
    found = _differing(desk, "HEAD") if desk.repository.resolve(["HEAD"]) else _differing(desk)
    if desk.repository.git("rev-parse", "--quiet", "--verify", "MERGE_HEAD").status == 0:
        theirs = set(_differing(desk, "MERGE_HEAD"))
        found = [path for path in found if path in theirs]
    return found


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
        call = json.loads(sys.stdin.read(1 << 22))
        tool = call["tool_name"]
        if not isinstance(tool, str):
            raise TypeError(tool)  # noqa: TRY301 -- answered below, like every call that is none
        name = WRITERS.get(tool)
        if name is None:
            return 0
        path = str(call["tool_input"][name])
        cwd = Path(call.get("cwd") or world.cwd)
        with opened(world, local=True) as desk:
            answer = allowed(desk, _from_root(desk, cwd, [path]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        click.echo("gatekeeper: this is no tool call that a hook is given, so nothing is allowed", err=True)
        return REFUSED_BY_HOOK
    except GatekeeperError as problem:
        click.echo(f"gatekeeper: {log_text(problem.message)}", err=True)
        return REFUSED_BY_HOOK
    _say(answer)
    return 0 if answer.holds else REFUSED_BY_HOOK
