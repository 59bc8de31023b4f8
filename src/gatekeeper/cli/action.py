"""`gatekeeper action`: the container's entry point."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gatekeeper.cli.base import World


@click.command(short_help="Judge a pull request inside a GitHub Action.")
@click.pass_obj
def action(world: World) -> int:
    """Judge the pull request of the event that GitHub describes in the environment.

    Reads INPUT_*, GITHUB_* and the event file, fetches what decides over the token, and
    writes annotations, outputs, a step summary and the JSON report. It needs no checkout.
    See docs/action.md.
    """
    from gatekeeper.action.run import main  # noqa: PLC0415 -- with the CI's own modules

    return main(world.environ, sys.stdout, sys.stderr, world.given)
