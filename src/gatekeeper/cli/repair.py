"""`gatekeeper repair`: what a crash, or a hand in the refs, left behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gatekeeper.cli.base import format_option, remote_option
from gatekeeper.cli.desk import UNFOLLOWED, opened
from gatekeeper.edges import leftovers
from gatekeeper.mending import Mend, mends, repaired
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from gatekeeper.cli.base import World

Row = tuple[str, str]
"""What became of it (`mended`, `would mend`, `to do by hand`), and what was amiss."""


@click.command(short_help="Find and mend what a crash left in the claim refs.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@remote_option
@format_option
@click.pass_obj
def repair(world: World, dry_run: bool, remote: str | None, form: str) -> int:
    """Free locks that no claim stands behind, give claims the locks they lack, put unreadable log entries aside.

    Every step is a compare-and-swap of its own, so that it can be run at any time, by anyone, beside the
    others. Lock files under the clone's claim refs that a git left which died more than ten minutes ago
    are removed. What only a person can decide is listed.

    \b
    Examples:
      gatekeeper repair --dry-run
      gatekeeper repair
    """
    rows: list[Row] = []
    with opened(world, remote) as desk:
        for path in leftovers.left_behind(desk.repository.common_dir):
            if not dry_run:
                path.unlink(missing_ok=True)
            rows.append(("would mend" if dry_run else "mended", f"{path} is a dead git's: it is removed"))
        if dry_run:
            rows += _planned(mends(desk, desk.store.learn_all()))
        else:
            mended, left = repaired(desk)
            rows += [("mended", mend.what) for mend in mended] + [("to do by hand", m.what) for m in left]
        if desk.store.unfollowed:
            rows.append(("to do by hand", UNFOLLOWED + desk.store.unfollowed))
    _tell(form, rows)
    return 0


def _planned(found: list[Mend]) -> list[Row]:
    return [("would mend" if mend.transition else "to do by hand", mend.what) for mend in found]


def _tell(form: str, rows: list[Row]) -> None:
    if form == "json":
        found = [
            {"what": what, "mended": how == "mended", "by_hand": how == "to do by hand"} for how, what in rows
        ]
        click.echo(json.dumps({"version": 1, "command": "repair", "found": found}, indent=1))
        return
    for how, what in rows:
        click.echo(log_text(f"{how}: {what}"))
    if not rows:
        click.echo("nothing to repair")
