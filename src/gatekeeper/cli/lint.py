"""`gatekeeper lint`: the board's rules over the working tree, or over one commit."""

from __future__ import annotations

from pathlib import Path

import click

from gatekeeper import rules
from gatekeeper.cli.base import World, emit
from gatekeeper.edges.boardreader import whole
from gatekeeper.edges.git import Repository, view_over
from gatekeeper.edges.reader import Reader
from gatekeeper.errors import RepositoryUnreadable, unforeseen
from gatekeeper.gate import ask, undecided
from gatekeeper.model import Outcome, Severity, Tip, Verdict
from gatekeeper.question import Question
from gatekeeper.report import FORMATS
from gatekeeper.snapshot import POLICY_PATH


@click.command(short_help="Ask the board's rules of the working tree, or of a commit.")
@click.option("--tree", metavar="COMMIT", help="A commit's board instead of the working tree's.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the report there.",
)
@click.pass_obj
def lint(world: World, tree: str | None, form: str, output: Path | None) -> int:
    """Ask the rules on task files, plan, proposals and decisions (GK2xx, GK3xx) of the working tree's board.

    \b
    Exit: 0 no errors, 1 errors, 2 that could not be decided.
    Examples:
      gatekeeper lint
      gatekeeper lint --tree main
    """
    try:
        verdict = _verdict(world, tree)
    except Exception as why:  # noqa: BLE001 -- whatever it is, who asked for a report is given one
        verdict = undecided(unforeseen(why, world.environ), None)._replace(command="lint")
    return emit(verdict, form, output)


def _verdict(world: World, tree: str | None) -> Verdict:
    repository = Repository(world.cwd, world.environ, explicit=world.explicit)
    with view_over(repository, world.environ, None, fetch=False) as view:
        oid = view.working_tree(repository.toplevel(), [b".agents", POLICY_PATH]) if tree is None else ""
        if tree is not None:
            commit = repository.resolve([tree]).get(tree)
            if commit is None:
                raise RepositoryUnreadable(
                    f"--tree {tree!r} stands for no commit here", "Name a branch or a commit."
                )
            oid = view.objects.commit(commit).tree
        reader = Reader(Question(Tip("", None), Tip("", None), world.now), view, rules.Codes())
        data = reader.file(oid, POLICY_PATH)
        if data is not None:
            reader.use_policy(reader.parse_policy(data))
        board = whole(reader, oid)
    found = tuple(sorted(ask(rules.BOARD, board, board.policy), key=lambda finding: finding.order))
    failed = any(finding.severity is Severity.ERROR for finding in found)
    return Verdict(Outcome.FAIL if failed else Outcome.PASS, found, command="lint")
