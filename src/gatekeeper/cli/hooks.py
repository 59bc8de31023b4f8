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

# What the remote calls a branch is what CI will judge. git's lines are read from their end: what was pushed
# may be named with blanks in it.
PUSHED = """\
while read -r line; do
    line=${line% *}
    name=${line##* }
    line=${line% *}
    commit=${line##* }
    case $name in refs/heads/*) ;; *) continue ;; esac
    case $commit in *[!0]*) ;; *) continue ;; esac # it is deleted
    "$@" check --head "$commit" "--branch=${name#refs/heads/}" </dev/null || exit
done
"""

HOOKS = {
    "pre-commit": ("May this branch write what is staged?", 'exec "$@" guard --staged </dev/null\n'),
    "pre-push": (
        "Would the pushed branches be merged? `git push --no-verify` pushes work that is not done.",
        PUSHED,
    ),
}
"""Each hook: what it asks, in words, and the lines that do. `"$@"` is gatekeeper there."""

# git starts hooks in the working tree, whose files are a branch's: neither a relative PATH nor Python may find
# its modules there.
SCRIPT = """\
#!/bin/sh
{mark}
# {asks}
PYTHONPATH={places} PYTHONSAFEPATH=1
export PYTHONPATH PYTHONSAFEPATH
set -- {program}
[ -x "$1" ] || set -- "$(command -v gatekeeper)"
case $1 in
    /*) ;;
    *) echo "gatekeeper is no longer where it was: run \\`gatekeeper hooks install\\` again" >&2; exit 1 ;;
esac
{body}"""


@click.group(short_help="Git hooks that ask the guard and the gate.")
def hooks() -> None:
    """Git hooks that ask the guard before a commit, and the gate before a push."""


@hooks.command(short_help="Write the pre-commit and pre-push hooks.")
@click.pass_obj
def install(world: World) -> int:
    """Write git's hooks: pre-commit (guard over the staged paths) and pre-push (check of each pushed branch).

    A hook that is there already and not ours is never overwritten, and a folder of hooks that all your
    repositories share is left alone: then nothing is written at all.
    """
    repository = Repository(world.cwd, world.environ, explicit=world.explicit)
    folder = _folder(repository)
    foreign = [name for name in HOOKS if not _ours(folder / name)]
    if foreign:
        raise Refusal(
            f"{', '.join(foreign)} in {folder} is there already, and not ours",
            "Call `gatekeeper guard --staged` and `gatekeeper check` from it, or move it away.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    places = shlex.quote(":".join(_places(world, repository.toplevel())))
    program = shlex.join(_program())
    for name, (asks, body) in HOOKS.items():
        _write(folder / name, SCRIPT.format(mark=MARK, asks=asks, places=places, program=program, body=body))
        click.echo(log_text(f"wrote {folder / name}"))
    return 0


def _folder(repository: Repository) -> Path:
    """Where git looks for this repository's hooks. Raises Refusal where that is not this repository's alone."""
    scope = os.fsdecode(repository.git("config", "--show-scope", "-z", "--get", "core.hooksPath").out)
    scope = scope.partition("\0")[0]
    done = repository.git("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    if done.status:
        raise RepositoryUnreadable(f"git does not say where hooks stand: {done.complaint}", "Run git status.")
    folder = Path(os.fsdecode(done.out.removesuffix(b"\n")))
    if scope not in ("", "local", "worktree"):
        own = shlex.quote(os.fspath(repository.common_dir / "hooks"))
        raise Refusal(
            f"core.hooksPath is a {scope} setting: the hooks in {folder} are those of all your repositories",
            "Call `gatekeeper guard --staged` and `gatekeeper check` from them, or give this repository hooks of "
            f"its own: git config core.hooksPath {own}",
        )
    if folder.exists() and not folder.is_dir():
        raise Refusal(
            f"core.hooksPath is {folder}, which is no folder: hooks are turned off here",
            "If you want them: git config --unset core.hooksPath",
        )
    return folder


def _program() -> list[str]:
    """What runs this very gatekeeper from anywhere: its command, or the interpreter that it is installed in."""
    command = Path(sys.argv[0]).absolute()
    if command.name == "gatekeeper" and os.access(command, os.X_OK) and command.is_file():
        return [os.fspath(command)]
    return [sys.executable, "-m", "gatekeeper"]


def _places(world: World, top: Path) -> list[str]:
    """The folders of PYTHONPATH, which gatekeeper may be installed in, that no branch's files can stand in."""
    named = world.environ.get("PYTHONPATH", "").split(os.pathsep)
    inside = os.path.realpath(top)
    return [p for p in named if p.startswith("/") and not Path(os.path.realpath(p)).is_relative_to(inside)]


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
    beside.write_text(text, encoding="utf-8", errors="surrogateescape")  # a folder may be named in any bytes
    beside.chmod(0o755)
    beside.replace(path)
