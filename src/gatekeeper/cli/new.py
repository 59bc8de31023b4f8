"""`new`, `regenerate`: write a queued task's file with a fresh id."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING

import click

from gatekeeper import drafting
from gatekeeper.cli.base import format_option, tell
from gatekeeper.cli.move import read_task
from gatekeeper.drafting import Draft
from gatekeeper.edges.worktree import WorkTree
from gatekeeper.errors import Refusal
from gatekeeper.model import State
from gatekeeper.report.escape import log_text
from gatekeeper.taskedit import EditError
from gatekeeper.taskfile import parse_task
from gatekeeper.text import listed, quoted, shown

if TYPE_CHECKING:
    from gatekeeper.cli.base import World
    from gatekeeper.model import Defect, Task

USUAL = "feature"
"""The classification of a task that names none, where the policy has it."""
PREMISE = "invalid-premise"
"""The only failure after which the same task makes sense again."""
MOST = 3
"""How many faults of a task that can't be written are told."""
_TOLERATED = ("GK205",)
"""A warning: what an old task says beyond the table's fields is copied."""


class Day(click.ParamType[date]):
    """A day that exists, written YYYY-MM-DD."""

    name = "DAY"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The day."""
        text = str(value)
        try:
            day = date.fromisoformat(text)
        except ValueError:
            day = None
        if day is None or day.isoformat() != text:
            self.fail(f"{text!r} is no day that exists, written YYYY-MM-DD", param, ctx)
        return day


@click.command(short_help="Write a queued task with a fresh id.")
@click.option("--title", required=True, metavar="TEXT", help="What is to be done, in one line.")
@click.option("--classification", metavar="WORD", help=f"One of the policy's [{USUAL}].")
@click.option(
    "--path", "paths", multiple=True, metavar="PATTERN", help="What the task may change; at least one."
)
@click.option("--forbid", multiple=True, metavar="PATTERN", help="What it may not, whatever --path holds.")
@click.option(
    "--lock", "locks", multiple=True, metavar="KEY", help="What no other task may hold at the same time."
)
@click.option("--depends-on", multiple=True, metavar="ID", help="A task that has to be done first.")
@click.option("--priority", type=int, metavar="N", help="Lower goes first [99].")
@click.option("--review-by", type=Day(), metavar="DAY", help="Past this day it has to be looked at again.")
@click.option("--assignee", metavar="NAME", help="The only agent that may claim it.")
@click.option("--slug", is_flag=True, help="Put the title's words into the file's name.")
@format_option
@click.pass_obj
def new(
    world: World,
    title: str,
    classification: str | None,
    paths: tuple[str, ...],
    forbid: tuple[str, ...],
    locks: tuple[str, ...],
    depends_on: tuple[str, ...],
    priority: int | None,
    review_by: date | None,
    assignee: str | None,
    slug: bool,
    form: str,
) -> int:
    """Write a new task's file into queued/, and print its id and its path. It is not staged: fill it in first.

    PATTERN is git's, from the repository's root: src/payments/** holds all below, a folder's name too.

    \b
    Examples:
      gatekeeper new --title "Retry failed payments" --path 'src/payments/**' --path 'tests/payments/**'
      gatekeeper new --title "Guide" --classification docs --path docs/ --priority 10 --slug
    """
    if not paths:
        raise click.UsageError(
            "name what the task may change: at least one --path, as in --path 'src/payments/**'"
        )
    tree = WorkTree(world.cwd, world.environ, explicit=world.explicit)
    today = world.now.date()
    if review_by is not None and review_by < today:
        raise click.UsageError(f"--review-by {review_by} is past: nobody could claim the task")
    draft = Draft(
        id=_fresh_id(tree, today),
        title=title.strip(),
        classification=classification or _usual(tree),
        created=today,
        paths=_once(paths),
        forbid=_once(forbid),
        locks=_once(locks),
        depends_on=_known(tree, _once(depends_on)),
        priority=priority,
        review_by=review_by,
        assignee=assignee,
    )
    path = tree.layout.folder(State.QUEUED) + f"{draft.id}{drafting.slug(title) if slug else ''}.md".encode()
    try:
        data = drafting.composed(draft)
    except EditError as why:
        raise click.UsageError(str(why)) from None
    wrong = _defects(_parsed(tree, path, data, State.QUEUED, today))
    if wrong:
        raise click.UsageError(_said(wrong))
    tree.create(path, data)
    _tell(tree, form, {"command": "new", "task": draft.id, "path": shown(path)})
    return 0


@click.command(short_help="Begin a task again whose premise was invalid.")
@click.argument("task")
@format_option
@click.pass_obj
def regenerate(world: World, task: str, form: str) -> int:
    """Write a queued task that replaces TASK, which failed with `failure: invalid-premise`; print its id and path.

    Header and text are TASK's, without ticks and evidence; `regenerated_from` names it. TASK stays as it is.
    The new file is not staged: mend the premise first.

    \b
    Example:
      gatekeeper regenerate T-20260814-abcdef01
    """
    tree = WorkTree(world.cwd, world.environ, explicit=world.explicit)
    today = world.now.date()
    old, data = _failed(tree, task, today)
    fresh = _fresh_id(tree, today)
    name = fresh.encode() + old.path.rpartition(b"/")[2].removeprefix(task.encode())
    path = tree.layout.folder(State.QUEUED) + name
    try:
        made = drafting.begun_again(data, fresh, today, task)
    except EditError as why:
        raise Refusal(f"{shown(old.path)}: {why}", "Write the new task with `gatekeeper new`.") from None
    wrong = _defects(_parsed(tree, path, made, State.QUEUED, today))
    if wrong:
        raise Refusal(
            f"{shown(old.path)}, begun again, would not hold: {_said(wrong)}", "Mend it there first."
        )
    tree.create(path, made)
    if old.review_by is not None and old.review_by < today:
        click.echo(f"gatekeeper: `review_by` is {old.review_by}, which is past: set a new day", err=True)
    document = {"command": "regenerate", "task": fresh, "path": shown(path), "regenerated_from": task}
    _tell(tree, form, document)
    return 0


def _failed(tree: WorkTree, task: str, today: date) -> tuple[Task, bytes]:
    """The failed task to begin again, and its file. Raises Refusal where there is none."""
    files = tree.find(task)
    standing = listed([shown(found.path) for found in files])
    if [found.state for found in files] != [State.FAILED]:
        where = f"stands at {standing}" if files else "is not on this working tree's board"
        raise Refusal(
            f"{quoted(task)} {where}, and only what is in failed/ alone is begun again",
            f"First `gatekeeper fail {task} --failure {PREMISE}`, if that is what happened.",
        )
    held = read_task(tree, files[0], task)
    old = _parsed(tree, held.path, held.data, State.FAILED, today)
    if old.failure != PREMISE:
        raise Refusal(
            f"{task} failed as {quoted(old.failure or 'nothing')}, and only {PREMISE} is begun again",
            "Its premise holds: put the task back into queued/, or write another with `gatekeeper new`.",
        )
    return old, held.data


def _parsed(tree: WorkTree, path: bytes, data: bytes, state: State, today: date) -> Task:
    known = tree.policy.classifications
    return parse_task(path, data, state=state.value, classifications=known, today=today)


def _defects(task: Task) -> list[Defect]:
    return [defect for defect in task.defects if defect.code not in _TOLERATED]


def _said(wrong: list[Defect]) -> str:
    return "; ".join(log_text(defect.message) for defect in wrong[:MOST])


def _fresh_id(tree: WorkTree, today: date) -> str:
    """An id that no file of the board bears."""
    while True:
        made = drafting.task_id(today, os.urandom(drafting.ENTROPY))
        if not tree.find(made):
            return made


def _usual(tree: WorkTree) -> str:
    known = list(tree.policy.classifications)
    return USUAL if USUAL in known else known[0]


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _known(tree: WorkTree, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Ids that are on the board. Raises Refusal for one that is not (GK231)."""
    missing = [quoted(task) for task in tasks if not tree.find(task)]
    if missing:
        raise Refusal(
            f"no task on this working tree's board is {listed(missing)}",
            "--depends-on takes the whole id of a task that stands here.",
        )
    return tasks


def _tell(tree: WorkTree, form: str, document: dict[str, str]) -> None:
    """The new id and path, and what it takes for the task to be claimed."""
    tell(form, f"{document['task']} {document['path']}", document)
    if tree.holds(tree.layout.manifest):
        manifest = shown(tree.layout.manifest)
        click.echo(
            f"gatekeeper: it can be claimed once base has it, and a milestone in {manifest} lists it",
            err=True,
        )
