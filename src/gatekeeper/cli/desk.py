"""A desk for the command that runs: git answers while the rules are imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gatekeeper.edges.background import Background
from gatekeeper.edges.clone import Asked
from gatekeeper.edges.opening import Opening, open_clone
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatekeeper.cli.base import World
    from gatekeeper.edges.desk import Desk

UNFOLLOWED = "some claim refs of this clone do not say what the remote's say, and its guard goes by them: "


def opened(
    world: World, remote: str | None = None, *, local: bool = False, ahead: Sequence[str] | None = None
) -> Desk:
    """A desk in the clone where the command runs; with `local` no remote is asked. `ahead` as in `open_clone`."""
    asked = Asked(remote=remote, fetch=not local)

    def work() -> Opening:
        return open_clone(
            world.cwd, world.environ, world.now, explicit=world.explicit, asked=asked, ahead=ahead
        )

    with Background(work, lambda opening: opening.clone.close()) as background:
        from gatekeeper import holding  # noqa: F401, PLC0415 -- what most of these commands need, while git answers
        from gatekeeper.edges.desk import Desk  # noqa: PLC0415

        opening = background.result()
    desk = Desk(opening, world.environ)
    opening.clone.closing.callback(_say_unfollowed, opening)
    return desk


def _say_unfollowed(opening: Opening) -> None:
    """Say what of the remote this clone could not follow: the guard, and whoever has no network, go by that."""
    if opening.clone.unfollowed:
        click.echo(f"gatekeeper: {log_text(opening.clone.unfollowed)}", err=True)
    if opening.store.unfollowed:
        click.echo(f"gatekeeper: {log_text(UNFOLLOWED + opening.store.unfollowed)}", err=True)
