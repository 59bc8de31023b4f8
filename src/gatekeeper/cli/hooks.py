"""`gatekeeper hooks install`: git hooks that ask the guard and the gate."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatekeeper.edges.git import Repository
from gatekeeper.errors import Refusal, RepositoryUnreadable
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from gatekeeper.cli.base import World

MARK = "# Written by `gatekeeper hooks install`; it is replaced by the next one."

HOOKS = {
    "pre-commit": ("May this branch write what is staged?", "guard --staged"),
    "pre-push": (
        "Would this branch be merged? `git push --no-verify` pushes work that is not done.",
        "check",
    ),
}
"""Each hook: what it asks, in words, and the command that answers."""

SCRIPT = """\
#!/bin/sh
{mark}
# {asks}
exec </dev/null
command -v gatekeeper >/dev/null 2>&1 && exec gatekeeper {command}
exec {python} -m gatekeeper {command}
"""


@click.group(short_help="Git hooks that ask the guard and the gate.")
def hooks() -> None:
    """Git hooks that ask the guard before a commit, and the gate before a push."""


@hooks.command(short_help="Write the pre-commit and pre-push hooks.")
@click.pass_obj
def install(world: World) -> int:
    """Write git's pre-commit (guard over the staged paths) and pre-push (check) hooks.

    A hook that is there already and not ours is never overwritten: then nothing is written at all.
    """
    repository = Repository(world.cwd, world.environ, explicit=world.explicit)
    done = repository.git("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    if done.status:
        raise RepositoryUnreadable(f"git does not say where hooks stand: {done.complaint}", "Run git status.")
    folder = Path(os.fsdecode(done.out.rstrip(b"\n")))
    foreign = [name for name in HOOKS if not _ours(folder / name)]
    if foreign:
        raise Refusal(
            f"{', '.join(foreign)} in {folder} is there already, and not ours",
            "Call `gatekeeper guard --staged` and `gatekeeper check` from it, or move it away.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    python = shlex.quote(sys.executable)  # git starts hooks with whatever PATH it has
    for name, (asks, command) in HOOKS.items():
        _write(folder / name, SCRIPT.format(mark=MARK, asks=asks, command=command, python=python))
        click.echo(log_text(f"wrote {folder / name}"))
    return 0


def _ours(path: Path) -> bool:
    """Whether a hook may be written at a path: nothing is there, or one of ours."""
    if path.is_symlink():
        return False
    try:
        return MARK in path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _write(path: Path, text: str) -> None:
    """Write an executable file, whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(0o755)
    beside.replace(path)
