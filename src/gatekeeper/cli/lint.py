"""`gatekeeper lint`: the board's rules over the working tree, or over one commit."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TypeVar

import click

from gatekeeper.cli.base import World, emit, report_options
from gatekeeper.edges.git import Repository, view_over
from gatekeeper.errors import RepositoryUnreadable, unforeseen
from gatekeeper.gate import undecided
from gatekeeper.linting import Asked, Linted, mend
from gatekeeper.linting import lint as linted
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

SOON = 1.0
"""Seconds after which a terminal is shown how far it has come."""


@click.command(short_help="Ask the board's rules of the working tree, or of a commit.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--tree", metavar="COMMIT", help="A commit's board instead of the working tree's.")
@click.option(
    "--base", metavar="REF", help="Also look for ids that changed, and tasks that are gone, since REF."
)
@click.option(
    "--links-only", is_flag=True, help="Look at links alone: of tasks, or of all Markdown at PATHs."
)
@click.option("--fix", is_flag=True, help="Mend what has one right answer only, then look again.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing where there is no error.")
@report_options
@click.pass_obj
def lint(
    world: World,
    paths: tuple[str, ...],
    tree: str | None,
    base: str | None,
    links_only: bool,
    fix: bool,
    quiet: bool,
    form: str,
    output: Path | None,
) -> int:
    """Ask the rules on task files, their links, plan, proposals and decisions (GK2xx, GK3xx).

    The working tree's board is looked at as it stands, what is not committed included; findings can be
    narrowed to PATHs.

    \b
    Exit: 0 no errors, 1 errors, 2 that could not be decided.
    Examples:
      gatekeeper lint
      gatekeeper lint --base main .agents/tasks/queued
      gatekeeper lint --tree main --format json
      gatekeeper lint --links-only README.md docs
      gatekeeper lint --fix
    """
    if fix and tree is not None:
        raise click.UsageError("--fix mends the working tree: it can't be told of a --tree")
    try:
        found = _linted(world, Asked(tree, base, (), links_only), paths, fix=fix)
    except Exception as why:  # noqa: BLE001 -- whatever it is, who asked for a report is given one
        return emit(undecided(unforeseen(why, world.environ), None)._replace(command="lint"), form, output)
    if quiet and output is None and found.verdict.outcome.value == "pass":
        return 0
    status = emit(found.verdict, form, output)
    if found.cases and form == "text" and not fix and tree is None:
        click.echo(f"gatekeeper: gatekeeper lint --fix mends {len(found.cases)} of these", err=True)
    return status


def _linted(world: World, asked: Asked, paths: Sequence[str], *, fix: bool) -> Linted:
    repository = Repository(world.cwd, world.environ, explicit=world.explicit)
    asked = asked._replace(paths=tuple(_from_root(repository, world.cwd, path) for path in paths))
    with view_over(repository, world.environ, None) as view:
        found = linted(repository, view, world.now, asked, _watched)
    if not fix:
        return found
    from gatekeeper.edges.worktree import WorkTree  # noqa: PLC0415 -- only what mends writes

    mended = mend(WorkTree(world.cwd, world.environ, explicit=world.explicit), found, asked)
    for line in mended:
        click.echo(f"gatekeeper: mended {log_text(line)}", err=True)
    return _linted(world, asked, paths, fix=False) if mended else found


def _from_root(repository: Repository, cwd: Path, path: str) -> bytes:
    """A path as git has it, from the repository's root."""
    top = repository.toplevel()
    real = os.path.relpath(os.path.realpath(cwd / os.path.dirname(path)), os.path.realpath(top))  # noqa: PTH120
    inside = os.path.normpath(os.path.join(real, os.path.basename(path)))  # noqa: PTH118, PTH119
    if inside == ".." or inside.startswith("../"):
        raise RepositoryUnreadable(f"{path!r} is outside this repository", "Name paths inside it.")
    return b"" if inside == "." else os.fsencode(inside)


def _watched(items: Sequence[T], what: str) -> Iterable[T]:
    """Show a terminal how far it has come, if that takes more than a second."""
    return _bar(items, what) if sys.stderr.isatty() else items


def _bar(items: Sequence[T], what: str) -> Iterator[T]:
    started, rest = time.monotonic(), iter(items)
    for done, item in enumerate(rest, 1):
        yield item
        if time.monotonic() - started > SOON:
            with click.progressbar(rest, len(items) - done, what, file=sys.stderr) as bar:
                yield from bar
