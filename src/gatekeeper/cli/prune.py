"""`gatekeeper prune`: ended tasks that were kept long enough leave the working tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gatekeeper import pruning, rules
from gatekeeper.cli.base import format_option, tell
from gatekeeper.edges.boardreader import thoroughly, whole
from gatekeeper.edges.git import Repository, view_over
from gatekeeper.edges.reader import Reader
from gatekeeper.edges.worktree import WorkTree
from gatekeeper.errors import RepositoryUnreadable
from gatekeeper.model import Tip
from gatekeeper.question import Question
from gatekeeper.snapshot import POLICY_PATH
from gatekeeper.text import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatekeeper.boards.board import Board
    from gatekeeper.cli.base import World
    from gatekeeper.pruning import Due


@click.command(short_help="Remove tasks that ended longer ago than they are kept, and stage that.")
@click.option(
    "--older-than", type=click.IntRange(0), metavar="DAYS", help="Days to keep [the policy's retention_days]."
)
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@format_option
@click.pass_obj
def prune(world: World, older_than: int | None, dry_run: bool, form: str) -> int:
    """Remove task files that ended longer ago than the retention, and stage the removal; history keeps them.

    How long ago is counted from the commit that moved a file to where it is, in HEAD's history. What an
    open task depends on or was regenerated from stays, and so does what an unfinished milestone lists,
    and what has changes that are not committed.

    \b
    Examples:
      gatekeeper prune --dry-run
      gatekeeper prune --older-than 90
    """
    tree = WorkTree(world.cwd, world.environ, explicit=world.explicit)
    board = _board(world, tree.repository, older_than)
    keep = board.policy.retention_days
    found = pruning.due(board, keep)
    dirty = tree.differing([one.path for one in found])
    found = [one._replace(kept=one.kept or _unsaved(one, dirty)) for one in found]
    going = [one for one in found if one.kept is None]
    if going and not dry_run:
        for one in going:
            tree.drop(tree.read(one.path))
        tree.stage([one.path for one in going])
    tell(form, _said(found, going, keep, dry_run=dry_run), _document(found, keep, dry_run=dry_run))
    return 0


def _board(world: World, repository: Repository, older_than: int | None) -> Board:
    """HEAD's board, under its own policy and with the ages of what has ended."""
    commit = repository.resolve(["HEAD"]).get("HEAD")
    if commit is None:
        raise RepositoryUnreadable("HEAD stands for no commit yet", "There is nothing to prune.")
    with view_over(repository, world.environ, None, fetch=True) as view:
        if view.boundary():
            raise RepositoryUnreadable(
                "this clone is shallow: when a task ended can't be told",
                "Fetch the rest: git fetch --unshallow.",
            )
        tree = view.objects.commit(commit).tree
        reader = Reader(Question(Tip("", None), Tip("", None), world.now), view, rules.Codes())
        data = reader.file(tree, POLICY_PATH)
        policy = reader.parse_policy(data) if data is not None else reader.policy
        if older_than is not None:
            policy = policy._replace(retention_days=older_than)
        reader.use_policy(policy)
        return thoroughly(reader, whole(reader, tree, None), tree, commit)


def _unsaved(one: Due, dirty: frozenset[bytes]) -> str | None:
    return "it has changes that are not committed" if one.path in dirty else None


def _said(found: Sequence[Due], going: Sequence[Due], keep: int, *, dry_run: bool) -> str:
    if not found:
        return f"nothing to prune: no task ended more than {keep} days ago"
    lines = [
        f"{'would remove' if dry_run else 'removed'} {shown(one.path)}, which ended {one.age} days ago"
        for one in going
    ]
    lines += [f"kept {shown(one.path)}: {one.kept}" for one in found if one.kept is not None]
    if going and not dry_run:
        lines.append("staged; commit it in a planning change")
    return "\n".join(lines)


def _document(found: Sequence[Due], keep: int, *, dry_run: bool) -> dict[str, object]:
    return {
        "command": "prune",
        "dryRun": dry_run,
        "keptDays": keep,
        "removed": [shown(one.path) for one in found if one.kept is None],
        "kept": [{"path": shown(one.path), "why": one.kept} for one in found if one.kept is not None],
    }
