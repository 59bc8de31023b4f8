"""Every command that a message or a page tells people to run is there, and so is every option named with it."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from gatekeeper.cli import COMMANDS, cli

PROJECT = Path(__file__).parent.parent
PLACES = sorted([*PROJECT.glob("src/gatekeeper/**/*.py"), *PROJECT.glob("docs/*.md"), *PROJECT.glob("*.md")])
# In running text only what is marked as code, or stands at the end of a hint, is a command.
CALL = re.compile(
    r"(?:`|: |Run |\$ |^ *)gatekeeper ([a-z]+)((?: (?:--?[a-z-]+|[A-Z]{2,}|T-[0-9a-f-]+))*)", re.MULTILINE
)


def options(name: str) -> set[str]:
    with click.Context(cli) as ctx:
        command = cli.get_command(ctx, name)
    assert command is not None
    found = {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
    return found | {"--help"}


@pytest.mark.parametrize("place", PLACES, ids=lambda p: str(p.relative_to(PROJECT)))
def test_what_people_are_told_to_run_exists(place: Path) -> None:
    for name, rest in CALL.findall(place.read_text(encoding="utf-8")):
        if name in ("check", "action", *COMMANDS):
            flags = set(re.findall(r"--[a-z-]+", rest))
            assert flags <= options(name), f"gatekeeper {name} {rest}"
        else:
            pytest.fail(f"there is no command {name!r}")
