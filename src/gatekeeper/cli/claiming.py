"""`claim`, `renew`, `release`, `steal`: the claim protocol's commands."""

from __future__ import annotations

import sys
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple

import click

from gatekeeper.cli.base import format_option, remote_option, tell
from gatekeeper.cli.desk import opened
from gatekeeper.edges import clock
from gatekeeper.errors import Refusal
from gatekeeper.report.escape import log_text
from gatekeeper.text import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatekeeper.cli.base import World
    from gatekeeper.edges.desk import Desk
    from gatekeeper.holding import Ask, Holder, Taken

MINUTES = click.IntRange(1, 120)
LONGER = 10
"""Minutes by which a heartbeat's leases are longer than its interval, at the least (CONTRACT 3)."""

agent_option = click.option(
    "--agent", metavar="NAME", help="Who claims [GATEKEEPER_AGENT, else git's user.name]."
)
minutes_option = click.option(
    "--minutes", type=MINUTES, metavar="N", help="The lease, 1 to 120 [the policy's: 30]."
)
sign_option = click.option(
    "--sign", is_flag=True, help="Sign with git's user.signingKey; implied where base requires it."
)


class Given(NamedTuple):
    """What every command of the protocol may be given; `minutes` where it makes or lengthens a lease."""

    agent: str | None
    sign: bool
    remote: str | None
    form: str
    minutes: int | None = None


def given_options(*, lease: bool = True) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The options behind `Given`, which the command gets as `given`; those of a lease only where it has one."""

    def dress(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def called(
            *,
            agent: str | None,
            sign: bool,
            remote: str | None,
            form: str,
            minutes: int | None = None,
            **own: object,
        ) -> int:
            return command(given=Given(agent, sign, remote, form, minutes), **own)

        dressed: Callable[..., int] = called
        leased = [minutes_option] if lease else []
        for option in (format_option, remote_option, sign_option, *leased, agent_option):
            dressed = option(dressed)
        return dressed

    return dress


def agent_of(world: World, desk: Desk, given: str | None) -> str:
    """`--agent`, else GATEKEEPER_AGENT, else git's user.name. Raises Refusal where there is none."""
    name = (
        given
        or world.environ.get("GATEKEEPER_AGENT")
        or (desk.repository.config.get("user.name") or [""])[-1]
    )
    if not name:
        raise Refusal("who claims is not known", "Name yourself: --agent NAME, or GATEKEEPER_AGENT.")
    return name


def _at_present(world: World) -> World:
    """The same world now: some time may have passed since the command was started."""
    return world if world.given else world._replace(now=clock.now())


def _ask(desk: Desk, given: Given, *, local: bool = False) -> Ask:
    from gatekeeper.holding import Ask  # noqa: PLC0415 -- imported while git answered

    return Ask(given.minutes or desk.reader.policy.lease.minutes, given.sign, local)


@click.command(short_help="Claim a task for the current branch.")
@click.argument("task", required=False)
@click.option("--next", "next_", is_flag=True, help="Claim the first task that can be, by priority, then id.")
@click.option("--again", is_flag=True, help="Take up again what is in review.")
@click.option(
    "--local", is_flag=True, help="Ask and tell no remote; the next renew that reaches it pushes the claim."
)
@given_options()
@click.pass_obj
def claim(
    world: World,
    task: str | None,
    next_: bool,
    again: bool,
    local: bool,
    given: Given,
) -> int:
    """Claim TASK for the current branch, before the work: atomically, with its locks, for half an hour.

    Base is fetched first: only what is queued there can be claimed. Who holds the claim already
    gets it back, made good for base as it is now.

    \b
    Examples:
      gatekeeper claim T-20260814-abcdef01 --agent backend
      gatekeeper claim --next
    """
    if bool(task) == next_:
        raise click.UsageError("name a task, or say --next")
    with opened(world, given.remote, local=local, ahead=[task] if task else None) as desk:
        from gatekeeper import choosing, holding  # noqa: PLC0415 -- as above
        from gatekeeper.claims.admission import Claimant  # noqa: PLC0415

        claimant = Claimant(agent_of(world, desk, given.agent), desk.branch, again)
        ask = _ask(desk, given, local=local)
        taken = holding.claim(desk, task, claimant, ask) if task else choosing.claim_next(desk, claimant, ask)
        desk.follow_base()
        if taken is None:
            tell(
                given.form,
                "nothing to claim: no queued task is free, admitted and within the caps",
                {"command": "claim", "claimed": None},
            )
            return 0
        _tell_taken(given.form, desk, taken)
    return 0


def _tell_taken(form: str, desk: Desk, taken: Taken) -> None:
    fields = taken.fields
    locks = ", ".join(str(key) for key in _list(fields["locks"])) or "none"
    revision = fields["planRevision"]
    rev = f"rev {revision}" if revision is not None else "no plan"
    text = f"claimed {fields['task']} for {fields['agent']} until {fields['expiresAt']}"
    document = {
        "command": "claim",
        "how": taken.how,
        "claimed": {k: v for k, v in fields.items() if k != "signature"},
    }
    task = desk.queued(str(fields["task"]))
    what = [f"  {task.title}: {shown(task.path)}"] if task else []
    tell(form, text, document, f"  ({rev} @ {desk.base_name}, locks: {locks})", *what)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


@click.command(short_help="Give the current branch's claim a later expiry.")
@click.argument("task", required=False)
@click.option("--every", type=MINUTES, metavar="N", help="Keep on, every N minutes, 1 to 120, until stopped.")
@click.option(
    "--if-older", type=click.IntRange(1, 120), metavar="N", help="Only if the last renewal is N minutes old."
)
@given_options()
@click.pass_obj
def renew(
    world: World,
    task: str | None,
    every: int | None,
    if_older: int | None,
    given: Given,
) -> int:
    """Renew the current branch's claim: the claim and all its locks, by compare-and-swap.

    \b
    Examples:
      gatekeeper renew
      gatekeeper renew --every 10        a heartbeat, until it is stopped or the claim is lost
      gatekeeper renew --if-older 5      for hooks that run often
    """
    if every and if_older:
        raise click.UsageError("say --every or --if-older: a heartbeat has its interval")
    holder: Holder | None = None
    length = max(given.minutes or 0, every + LONGER) if every else given.minutes

    def once() -> Taken:
        nonlocal holder
        with opened(_at_present(world), given.remote) as desk:
            from gatekeeper import holding  # noqa: PLC0415 -- as above

            desk.follow_base()
            holder = holder or holding.Holder(task, given.agent)
            return holding.renew(desk, holder, _ask(desk, given._replace(minutes=length)))

    if every:
        from gatekeeper.cli.heartbeat import heeding, keep_on  # noqa: PLC0415 -- for those who keep on

        return keep_on(lambda: _renewed(once()), every * 60.0, heeding())
    if if_older and _young(world, task, given, if_older):
        return 0
    taken = once()
    done = {"task": taken.fields["task"], "expiresAt": taken.fields["expiresAt"]}
    tell(given.form, _renewed(taken), {"command": "renew", **done})
    return 0


def _renewed(taken: Taken) -> str:
    return f"renewed {taken.fields['task']} until {taken.fields['expiresAt']}"


def _young(world: World, task: str | None, given: Given, limit: int) -> bool:
    """Whether the branch's claim was renewed less than `limit` minutes ago, as its expiry says. Asks no remote."""
    with opened(world, local=True) as desk:
        from gatekeeper import holding  # noqa: PLC0415 -- as above

        lease = given.minutes or desk.reader.policy.lease.minutes
        try:
            mine = holding.own_claim(desk, desk.store.learn(), task, given.agent)
        except Refusal:
            return False
        return mine.expires_at - desk.now > timedelta(minutes=lease - limit)


@click.command(short_help="Log the current branch's claim, and free its task and locks.")
@click.argument("task", required=False)
@click.option(
    "--outcome", type=click.Choice(["done", "failed", "abandoned"]), help="What came of it, for the log."
)
@given_options(lease=False)
@click.pass_obj
def release(
    world: World,
    task: str | None,
    outcome: str | None,
    given: Given,
) -> int:
    """Release the current branch's claim: its final blob goes to the log, then its refs go.

    With --outcome done the task is in review until base has it in done/, and is not given out again.

    \b
    Examples:
      gatekeeper release --outcome done
      gatekeeper release T-20260814-abcdef01 --outcome abandoned
    """
    with opened(world, given.remote, ahead=[task] if task else []) as desk:
        from gatekeeper import holding  # noqa: PLC0415 -- as above

        fields = holding.release(desk, task, given.agent, outcome, sign=given.sign)
        ended = f" as {outcome}" if outcome else ""
        document = {"command": "release", "task": fields["task"], "outcome": outcome}
        tell(given.form, f"released {fields['task']}{ended}", document)
        if outcome == "done" and not desk.finished(str(fields["task"])):
            click.echo(
                f"gatekeeper: HEAD does not have {log_text(str(fields['task']))} in done/: finish it with gatekeeper "
                "done, or take it up again with gatekeeper claim ID --again",
                err=True,
            )
    return 0


@click.command(short_help="Take over an expired claim.")
@click.argument("task")
@click.option("--override", is_flag=True, help="An operator's: take a live claim as well.")
@click.option("--yes", is_flag=True, help="With --override: don't ask for the id again.")
@given_options()
@click.pass_obj
def steal(
    world: World,
    task: str,
    override: bool,
    yes: bool,
    given: Given,
) -> int:
    """Take over TASK's expired claim, which is logged as stolen first.

    A malformed claim, and that of a task which you can't have (it has left queued/, is somebody else's, its
    milestone has ended), is cleared: it is logged, its locks are free, and nothing is taken.

    \b
    Examples:
      gatekeeper steal T-20260814-abcdef01 --agent backend
      gatekeeper steal T-20260814-abcdef01 --override     a live claim; an operator's
    """
    if override and not yes:
        _asked(task)
        world = _at_present(world)
    with opened(world, given.remote, ahead=[task]) as desk:
        from gatekeeper import stealing  # noqa: PLC0415 -- imported while git answered
        from gatekeeper.claims.admission import Claimant  # noqa: PLC0415

        claimant = Claimant(agent_of(world, desk, given.agent), desk.branch)
        taken = stealing.steal(desk, task, claimant, _ask(desk, given), override=override)
        if isinstance(taken, stealing.Cleared):
            tell(given.form, f"cleared {task}", {"command": "steal", "cleared": task, "why": taken.why})
            click.echo(log_text(f"gatekeeper: nothing was taken in its place: {taken.why}"), err=True)
        else:
            _tell_taken(given.form, desk, taken)
    return 0


def _asked(task: str) -> None:
    """Have the task's id typed. Raises Refusal where it is not, or where nobody is there to type it."""
    click.echo(log_text(f"Type {task} to take over a live claim:") + " ", nl=False, err=True)
    try:
        said = sys.stdin.readline(len(task) + 100).strip()
    except (AttributeError, OSError, ValueError):  # there is no standard input, or what comes is no text
        said = ""
    if said != task:
        raise Refusal("that was not the task's id, so nothing is stolen", "Type the id, or say --yes.")
