"""`gatekeeper status`: every task's state, and who holds it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import click

from gatekeeper.claims import refs
from gatekeeper.claims.blob import iso
from gatekeeper.cli.base import format_option, remote_option
from gatekeeper.cli.desk import opened
from gatekeeper.errors import RemoteUnreachable
from gatekeeper.mending import amiss
from gatekeeper.model import Claim, Malformed
from gatekeeper.report.escape import log_text
from gatekeeper.taskname import id_from_name

if TYPE_CHECKING:
    from gatekeeper.cli.base import World
    from gatekeeper.edges.claimstore import Known
    from gatekeeper.edges.desk import Desk, Standing
    from gatekeeper.mending import Mend


class Line(NamedTuple):
    """One task: its id, its state (a folder, `active`, `EXPIRED`, `in review`, `malformed`) and its claim, if any."""

    id: str
    state: str
    standing: Standing

    def text(self) -> str:
        """The line as text."""
        held = ""
        if isinstance(self.standing, Claim):
            c = self.standing
            rev = f"rev {c.plan_revision}" if c.plan_revision is not None else "no plan"
            held = f"{c.agent}  {c.branch}  {rev}  until {iso(c.expires_at)}"
        elif isinstance(self.standing, Malformed):
            held = self.standing.why
        return log_text(f"{self.id:<22} {self.state:<10} {held}".rstrip())

    def document(self) -> dict[str, object]:
        """The line as a JSON object."""
        c = self.standing if isinstance(self.standing, Claim) else None
        return {
            "id": self.id,
            "state": self.state,
            "agent": c.agent if c else None,
            "branch": c.branch if c else None,
            "planRevision": c.plan_revision if c else None,
            "expiresAt": iso(c.expires_at) if c else None,
            "local": bool(c and c.local),
        }


@click.command(short_help="Every task's state: who holds it, on which branch, until when.")
@click.argument("task", required=False)
@remote_option
@format_option
@click.pass_obj
def status(world: World, task: str | None, remote: str | None, form: str) -> int:
    """Show every task of base, its state, and who holds it; or TASK alone.

    `active` is a queued task with a live claim, EXPIRED one whose lease is over, `in review` one whose
    work is done and not yet merged. Where the remote can't be reached, what is known here is shown.

    \b
    Examples:
      gatekeeper status
      gatekeeper status T-20260814-abcdef01 --format json
    """
    try:
        desk = opened(world, remote)
    except RemoteUnreachable as away:
        click.echo(f"gatekeeper: {log_text(away.message)}; this is what was last known here", err=True)
        desk = opened(world, remote, local=True)
    with desk:
        lines, care = look(desk, task)
        if desk.store.mirrored:
            click.echo(
                f"gatekeeper: {desk.store.mirrored} claim refs here now say what the remote's say", err=True
            )
    if form == "json":
        document = {"version": 1, "command": "status", "base": desk.base_name, "commit": desk.base}
        click.echo(
            json.dumps({**document, "tasks": [line.document() for line in lines], "care": care}, indent=1)
        )
        return 0
    for line in lines:
        click.echo(line.text())
    if not lines:
        click.echo("no such task" if task else "no tasks are on the board")
    for note in care:
        click.echo(f"! {log_text(note)}")
    return 0


def look(desk: Desk, only: str | None) -> tuple[list[Line], list[str]]:
    """A line for each task, and what a person has to look after."""
    states = _states(desk)
    queued = [task for task, state in states.items() if state == "queued"]
    known = desk.store.learn([only] if only else queued)
    standing = desk.store.standing(known, desk.now)
    lines = [
        Line(
            task,
            _state(desk, known, task, states.get(task, "no task"), standing.get(task)),
            standing.get(task),
        )
        for task in sorted({*states, *standing})
        if only in (None, task)
    ]
    return lines, [
        _note(mend) for mend in amiss(desk, known, standing, states) if only is None or only in mend.what
    ]


def _note(mend: Mend) -> str:
    return f"{mend.what}: gatekeeper repair mends it" if mend.transition else mend.what


def _states(desk: Desk) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, _, _ in desk.clone.view.objects.walk(desk.base_tree, desk.reader.layout.tasks.rstrip(b"/")):
        place = desk.reader.layout.place(path)
        if place is not None and found.get(id_from_name(place.name)) != "done":
            found[id_from_name(place.name)] = place.state.value
    return found


def _state(desk: Desk, known: Known, task: str, folder: str, standing: Standing) -> str:
    if isinstance(standing, Malformed):
        return "malformed"
    if isinstance(standing, Claim):
        return "EXPIRED" if desk.now > standing.expires_at else "active"
    logged = any(ref.startswith(refs.log_prefix(task)) for ref in known.refs)
    if folder == "queued" and logged and desk.in_review(known, task):
        return "in review"
    return folder
