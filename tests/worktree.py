"""A git repository with a working tree, under construction: its files, its commits, its clock."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BASE_BEGAN = 1_773_046_800  # 2026-03-09T09:00:00Z
WORK_BEGAN = 1_773_140_700  # 2026-03-10T11:05:00Z
BRANCH = "agent/work"
BOARD = ".agents/tasks"


class WorkTree:
    """A repository in the folder `path`, with nothing in it yet.

    Base's commits are from 2026-03-09, the branch's from 2026-03-10T11:06Z on, a minute apart.
    """

    def __init__(self, root: Path, object_format: str = "sha1") -> None:
        """Begin one in the empty folder `root`."""
        self.root, self.path, self.branch = root, root / "repo", "main"
        self.clock = BASE_BEGAN
        self.fork = ""
        self._gitlinks: dict[str, str] = {}
        self.path.mkdir(parents=True)
        self.git(
            "init", "--quiet", "--template=", f"--object-format={object_format}", "--initial-branch=main"
        )

    # -- git ---------------------------------------------------------------

    @property
    def env(self) -> dict[str, str]:
        """An environment that knows nothing of the user, of CI, or of another repository."""
        alien = ("GIT_", "GITHUB_", "GATEKEEPER_", "INPUT_", "RUNNER_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(alien) and k != "CI"}
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in self._person().items()
        }
        quiet = {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "NO_COLOR": "1",
            "HOME": str(self.root),
        }
        return kept | who | quiet | {"GIT_CEILING_DIRECTORIES": str(self.root)}

    def _person(self) -> dict[str, str]:
        return {"NAME": "Ada", "EMAIL": "ada@example.com", "DATE": f"{self.clock} +0000"}

    def git(self, *args: str, stdin: str | None = None) -> str:
        """Run git in the repository; what it prints, without the last line's end."""
        command = ["git", *args]
        done = subprocess.run(
            command, cwd=self.path, env=self.env, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def commit(self, message: str = "work") -> str:
        """Commit everything there is, a minute after the last commit; its object name."""
        self.clock += 60
        self.git("add", "--all", "--force")
        for path, oid in self._gitlinks.items():
            self.git("update-index", "--add", "--cacheinfo", f"160000,{oid},{path}")
        self._gitlinks = {}
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def start_branch(self, name: str = BRANCH) -> None:
        """Fork the pull request's branch off the base branch."""
        self.fork = self.git("rev-parse", "HEAD")
        self.git("switch", "--quiet", "-c", name)
        self.branch, self.clock = name, max(self.clock, WORK_BEGAN)

    # -- files -------------------------------------------------------------

    def write(self, path: str, text: str | Mapping[str, str]) -> None:
        """Write a file: its text, or its bytes as `{hex: …}`."""
        data = bytes.fromhex(text["hex"]) if isinstance(text, Mapping) else text.encode()
        self._room(path).write_bytes(data)

    def _room(self, path: str) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def append(self, path: str, text: str) -> None:
        """Add text at a file's end."""
        with (self.path / path).open("ab") as out:
            out.write(text.encode())

    def delete(self, path: str) -> None:
        """Remove a file."""
        (self.path / path).unlink()

    def move(self, old: str, new: str) -> None:
        """Rename a file."""
        (self.path / old).rename(self._room(new))

    def copy(self, old: str, new: str) -> None:
        """Copy a file."""
        shutil.copy(self.path / old, self._room(new))

    def replace(self, path: str, words: Sequence[str]) -> None:
        """Put the second of two texts in the place of the first, wherever it stands."""
        old, new = (word.encode() for word in words)
        data = (self.path / path).read_bytes()
        assert old in data, f"{path} does not hold {old!r}"
        (self.path / path).write_bytes(data.replace(old, new))

    def symlink(self, path: str, target: str) -> None:
        """Make a symbolic link, in the place of whatever stands there."""
        link = self._room(path)
        link.unlink(missing_ok=True)
        link.symlink_to(target)

    def gitlink(self, path: str, oid: str) -> None:
        """Make a submodule's commit stand at `path`, with the next commit."""
        (self.path / path).mkdir(parents=True, exist_ok=True)
        self._gitlinks[path] = oid

    def chmod(self, path: str, mode: str) -> None:
        """Set a file's permissions, octal."""
        (self.path / path).chmod(int(mode, 8))

    def finish(self, what: str | Mapping[str, str]) -> None:
        """Move a task to done, or to the `state` that is named, in folder and header."""
        task, state = (what, "done") if isinstance(what, str) else (what["task"], what["state"])
        (old,) = (self.path / BOARD).glob(f"*/{task}*.md")
        text = re.sub(
            rb"^status: [a-z]+", b"status: " + state.encode(), old.read_bytes(), count=1, flags=re.MULTILINE
        )
        old.unlink()
        self._room(f"{BOARD}/{state}/{old.name}").write_bytes(text)

    def merge_base(self, name: str) -> None:
        """Merge the base branch into the head branch."""
        self.commit("before the merge")
        self.git("merge", "--quiet", "--no-edit", name)

    def clone(self, options: str) -> None:
        """Go on in a clone of this repository, made with those options of `git clone`."""
        self.commit("before the clone")
        whole = self.root / "whole"
        self.path.rename(whole)
        self.path.mkdir()
        self.git("clone", "--quiet", *shlex.split(options), f"file://{whole}", ".")
