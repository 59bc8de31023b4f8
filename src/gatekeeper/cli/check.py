"""`gatekeeper check`: the gate on a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from gatekeeper.cli.base import World, emit, remote_option, report_options
from gatekeeper.edges.background import Background
from gatekeeper.edges.clone import Asked, Clone
from gatekeeper.edges.git import Repository, Running
from gatekeeper.errors import unforeseen
from gatekeeper.model import Tip, Verdict
from gatekeeper.question import Question

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 2.0
"""Seconds to wait, once the verdict is there, for git to say whether anything is uncommitted."""


@click.command(short_help="Decide whether a branch may be merged into its base.")
@click.option(
    "--base", metavar="REF", help="The base branch [the remote's default branch, else main, else master]."
)
@click.option("--head", metavar="REF", default="HEAD", show_default=True, help="What is to be merged.")
@click.option("--branch", metavar="NAME", help="The head branch that claims are for [the current branch].")
@click.option("--author", metavar="LOGIN", help="The pull request's author.")
@click.option("--pusher", metavar="LOGIN", help="Who pushed the head last.")
@click.option(
    "--operator",
    "operators",
    metavar="LOGIN",
    multiple=True,
    help="Who is an operator, in place of the forge.",
)
@click.option("--base-repo", metavar="OWNER/NAME", help="The repository that base lives in.")
@click.option("--head-repo", metavar="OWNER/NAME", help="The repository that head lives in.")
@remote_option
@click.option("--no-fetch", is_flag=True, help="Judge by what is in this clone, and fetch nothing.")
@report_options
@click.pass_obj
def check(
    world: World,
    base: str | None,
    head: str,
    branch: str | None,
    author: str | None,
    pusher: str | None,
    operators: tuple[str, ...],
    base_repo: str | None,
    head_repo: str | None,
    remote: str | None,
    no_fetch: bool,
    form: str,
    output: Path | None,
) -> int:
    """Decide whether a branch may be merged into its base: the same verdict as in CI.

    What merging would do to the base branch is judged, never the working tree: commit first.
    Where there is a remote, base's tip and the task's claims are asked of it; nothing in the
    clone is changed. In GitHub Actions author, pusher and repositories come from the event,
    where no option says otherwise.

    \b
    Exit: 0 it may be merged, 1 it may not, 2 that could not be decided.
    Examples:
      gatekeeper check
      gatekeeper check --base main --head agent/retry --branch agent/retry --no-fetch
      gatekeeper check --author ann --operator octocat --format json
    """
    if remote is not None and no_fetch:
        raise click.UsageError("--remote and --no-fetch exclude each other")
    asked = Asked(base, head, branch, remote, fetch=not no_fetch)
    question = Question(
        Tip(base or "", None),
        Tip(head, None),
        world.now,
        branch=branch,
        author=author,
        pusher=pusher,
        operators=operators,
        base_repo=base_repo,
        head_repo=head_repo,
        in_ci=world.in_ci,
    )
    return emit(_verdict(world, asked, question), form, output)


def _verdict(world: World, asked: Asked, question: Question) -> Verdict:
    """The verdict on a clone; whatever keeps it from being found out is the verdict `error`."""
    try:
        return _decided(world, asked, _told(world, question) if world.in_ci else question)
    except Exception as why:  # noqa: BLE001 -- whatever it is, who asked for a report is given one
        from gatekeeper.gate import undecided  # noqa: PLC0415 -- loaded by now, or soon

        return undecided(unforeseen(why, world.environ), question)


def _told(world: World, question: Question) -> Question:
    """What no option says of the pull request, as the forge's event has it (CONTRACT 4)."""
    from gatekeeper.action.event import told_pull  # noqa: PLC0415 -- a laptop has no event

    pull = told_pull(world.environ)
    here = pull.base_repo if pull else world.environ.get("GITHUB_REPOSITORY") or None
    question = question._replace(base_repo=question.base_repo if question.base_repo is not None else here)
    if pull is None:
        return question
    return question._replace(
        author=pull.author if question.author is None else question.author,
        pusher=pull.pusher if question.pusher is None else question.pusher,
        head_repo=pull.head_repo if question.head_repo is None else question.head_repo,
    )


def _decided(world: World, asked: Asked, question: Question) -> Verdict:
    with Background(lambda: _opened(world, asked, question), lambda made: made.clone.close()) as opening:
        from gatekeeper.deciding import decide  # noqa: PLC0415 -- while git answers

        opened = opening.result()
    with opened.clone as clone:
        verdict = decide(opened.question, clone.view, clone.claims, None, clone.remote)
    _say_uncommitted(opened.looking)
    return verdict


class _Opened(NamedTuple):
    """A clone, the question with its commits, and the git that looks for uncommitted changes."""

    clone: Clone
    question: Question
    looking: Running | None


def _opened(world: World, asked: Asked, question: Question) -> _Opened:
    repository = Repository(world.cwd, world.environ, explicit=world.explicit)
    looking = repository.uncommitted() if asked.head == "HEAD" and not world.in_ci else None
    clone = None
    try:
        clone = Clone(repository, world.environ, asked)
        complete = clone.complete(question)
        clone.look_ahead(complete)
    except BaseException:
        if clone is not None:
            clone.close()
        if looking is not None:
            looking.stop()
        raise
    return _Opened(clone, complete, looking)


def _say_uncommitted(looking: Running | None) -> None:
    """Say on standard error that what is not committed was not judged, if git found any of it meanwhile."""
    if looking is None:
        return
    found = looking.done(PATIENCE)
    if found.status:
        click.echo("gatekeeper: only what is committed was judged", err=True)
    elif found.out:
        count = len([entry for entry in found.out.split(b"\0") if entry])
        click.echo(
            f"gatekeeper: {count} uncommitted change{'s' * (count != 1)} not judged: commit first", err=True
        )
