"""A desk for the command that runs: git answers while the rules are imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gatekeeper.edges.background import Background
from gatekeeper.edges.clone import Asked
from gatekeeper.edges.opening import Opening, open_clone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatekeeper.cli.base import World
    from gatekeeper.edges.desk import Desk

remote_option = click.option(
    "--remote", metavar="NAME", help="The remote that holds the claims [base's upstream, else origin]."
)


def opened(
    world: World, remote: str | None = None, *, local: bool = False, ahead: Sequence[str] | None = None
) -> Desk:
    """A desk in the clone where the command runs; with `local` no remote is asked. `ahead` as in `open_clone`."""
    asked = Asked(remote=remote, fetch=not local)

    def work() -> Opening:
        return open_clone(
            world.cwd, world.environ, world.now, explicit=world.explicit, asked=asked, ahead=ahead
        )

    opening = Background(work)
    from gatekeeper import holding  # noqa: F401, PLC0415 -- what most of these commands need, while git answers
    from gatekeeper.edges.desk import Desk  # noqa: PLC0415

    return Desk(opening.result(), world.environ)
