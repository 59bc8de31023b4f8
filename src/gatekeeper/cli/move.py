"""`done`, `fail`, `block`, `cancel`: move a task's file and its header together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from gatekeeper import header
from gatekeeper.cli.base import format_option, tell
from gatekeeper.edges.worktree import WorkTree
from gatekeeper.errors import Refusal
from gatekeeper.model import State
from gatekeeper.taskedit import EditError, moved, scalar
from gatekeeper.taskfile import FAILURES
from gatekeeper.text import listed, quoted, shown

if TYPE_CHECKING:
    from gatekeeper.cli.base import World
    from gatekeeper.edges.worktree import Found, Held


class Move(NamedTuple):
    """A command, the states it takes a task from, the one it brings it to, and why."""

    command: str
    sources: tuple[State, ...]
    target: State
    failure: str | None = None
    reason: str | None = None

    def edit(self, data: bytes) -> bytes:
        """The file as it stands in the target's folder."""
        return moved(data, self.target, failure=self.failure, reason=self.reason)


def _one_line(context: click.Context, option: click.Parameter, value: str) -> str:
    """`--reason`: one line that a header can hold."""
    del context
    try:
        scalar(value.strip())
    except EditError as why:
        raise click.BadParameter(str(why), param=option) from None
    return value.strip()


reason_option = click.option(
    "--reason", required=True, metavar="TEXT", callback=_one_line, help="Why, in one line, for the header."
)


@click.command(short_help="Move a task to done, file and header together.")
@click.argument("task")
@format_option
@click.pass_obj
def done(world: World, task: str, form: str) -> int:
    """Move TASK's file from queued/ to done/ and write `status: done`; the move is staged, not committed.

    \b
    Example:
      gatekeeper done T-20260814-abcdef01
    """
    return _run(world, task, Move("done", (State.QUEUED,), State.DONE), form)


@click.command(short_help="Move a task to failed, and say how it failed.")
@click.argument("task")
@click.option(
    "--failure",
    required=True,
    type=click.Choice(FAILURES),
    metavar="KIND",
    help=f"One of {', '.join(FAILURES)}.",
)
@format_option
@click.pass_obj
def fail(world: World, task: str, failure: str, form: str) -> int:
    """Move TASK's file from queued/ to failed/ and write `failure: KIND`; the move is staged, not committed.

    \b
    Example:
      gatekeeper fail T-20260814-abcdef01 --failure invalid-premise
    """
    return _run(world, task, Move("fail", (State.QUEUED,), State.FAILED, failure=failure), form)


@click.command(short_help="Move a task to blocked, and say what it waits for.")
@click.argument("task")
@reason_option
@format_option
@click.pass_obj
def block(world: World, task: str, reason: str, form: str) -> int:
    """Move TASK's file from queued/ to blocked/ and write `reason: TEXT`; the move is staged, not committed.

    \b
    Example:
      gatekeeper block T-20260814-abcdef01 --reason "waits: for #12"
    """
    return _run(world, task, Move("block", (State.QUEUED,), State.BLOCKED, reason=reason), form)


@click.command(short_help="Move a task to cancelled, and say why.")
@click.argument("task")
@reason_option
@format_option
@click.pass_obj
def cancel(world: World, task: str, reason: str, form: str) -> int:
    """Move TASK's file from queued/ or blocked/ to cancelled/ and write `reason: TEXT`; staged, not committed.

    \b
    Example:
      gatekeeper cancel T-20260814-abcdef01 --reason "the bank does it now"
    """
    sources = (State.QUEUED, State.BLOCKED)
    return _run(world, task, Move("cancel", sources, State.CANCELLED, reason=reason), form)


def _run(world: World, task: str, move: Move, form: str) -> int:
    tree = WorkTree(world.cwd, world.environ, explicit=world.explicit)
    old, new, finished = carry(tree, task, move)
    tree.stage([old, new])
    again = " (a move that was broken off is finished)" if finished else ""
    where = {"from": shown(old), "to": shown(new)}
    text = f"moved {task}: {where['from']} -> {where['to']}, staged{again}"
    tell(form, text, {"command": move.command, "task": task, **where})
    return 0


def carry(tree: WorkTree, task: str, move: Move) -> tuple[bytes, bytes, bool]:
    """Move the file in the working tree: its old path, its new one, and whether the new one was there already.

    Raises Refusal where the task is not where it has to be, its file can't be edited, or a merge left it in conflict.
    """
    files = tree.find(task)
    if files and all(found.state is move.target for found in files):
        return _left_unstaged(tree, files, task, move)
    old = _source(task, move, files)
    target = tree.layout.folder(move.target) + old.path.rpartition(b"/")[2]
    tree.refuse_unmerged([old.path, target])
    held = read_task(tree, old, task)
    data = _edited(held, move)
    others = [found.path for found in files if found != old]
    if others == [target] and tree.read(target).data == data:
        tree.drop(held)  # a crash between writing the new file and deleting the old one
        return old.path, target, True
    if others:
        paths = listed([shown(found.path) for found in files])
        raise Refusal(
            f"{task} stands in several files: {paths}", "Keep the one that is right, delete the others."
        )
    tree.move(held, target, data)
    return old.path, target, False


def _left_unstaged(tree: WorkTree, files: list[Found], task: str, move: Move) -> tuple[bytes, bytes, bool]:
    """The paths of this move where it was made and not staged, as `carry` gives them; Refusal where it was not."""
    target = files[0].path
    sources = [tree.layout.folder(state) + target.rpartition(b"/")[2] for state in move.sources]
    tree.refuse_unmerged([*sources, target])
    left = tree.unstaged([*sources, target])
    held = read_task(tree, files[0], task) if left and len(files) == 1 else None
    if held is None or _edited(held, move) != held.data:
        standing = listed([shown(found.path) for found in files])
        raise Refusal(f"{task} is in {move.target}/ already: {standing}", "There is nothing to do.")
    return next((path for path in sources if path in left), sources[0]), target, True


def _edited(held: Held, move: Move) -> bytes:
    """A task's file as it is after the move. Raises Refusal."""
    try:
        return move.edit(held.data)
    except EditError as why:
        raise Refusal(f"{shown(held.path)}: {why}", "Change its header and move it by hand.") from None


def _source(task: str, move: Move, files: list[Found]) -> Found:
    """The file to move. Raises Refusal."""
    if not files:
        raise Refusal(
            f"there is no task {quoted(task)} on this working tree's board",
            "Name its whole id; `gatekeeper status` lists the tasks of base, and a branch may be behind.",
        )
    for found in files:
        if found.state in move.sources:
            return found
    wanted = " or ".join(f"{state}/" for state in move.sources)
    standing = listed([shown(found.path) for found in files])
    raise Refusal(
        f"`{move.command}` takes a task from {wanted}, and {task} stands at {standing}",
        "What has ended is put back, or begun again with `gatekeeper regenerate`, by a planning change.",
    )


def read_task(tree: WorkTree, found: Found, task: str) -> Held:
    """A task's file, whose front matter can be read and says that very id. Raises Refusal."""
    try:
        held = tree.read(found.path)
    except FileNotFoundError:
        raise Refusal(f"{shown(found.path)} went away just now", "Try again.") from None
    try:
        fields = header.read_document(held.data).header
    except header.HeaderError as why:
        defect = why.defect
        where = f"{shown(found.path)}:{defect.line}" if defect.line else shown(found.path)
        raise Refusal(f"{where}: {defect.message}", defect.help or "Mend its front matter.") from None
    says = header.text_of(fields.get("id")) or ""
    if says != task:
        raise Refusal(
            f"{shown(found.path)} says that its id is {quoted(says)}, and its name says {quoted(task)}",
            "Let `id` and the file's name agree.",
        )
    return held
