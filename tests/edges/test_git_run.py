"""Starting git: what its diffs say, and a git that is too old."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from gatekeeper.edges.git import Repository, refuse_old_git
from gatekeeper.edges.git.run import parse_changes, run_git
from gatekeeper.errors import RepositoryUnreadable
from gatekeeper.model import ABSENT, GITLINK, SYMLINK, Change

if TYPE_CHECKING:
    from pathlib import Path

OLD = """\
#!/bin/sh
# A git of another time: it says its version, and knows none of the options that came later.
case "$*" in
version) echo "git version 2.30.2" ;;
*-z*) echo "error: unknown switch \\`z'" >&2; exit 129 ;;
*) exec "$REAL_GIT" "$@" ;;
esac
"""


@pytest.fixture
def old_git(tmp_path: Path) -> dict[str, str]:
    """An environment in which git is version 2.30."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "git"
    program.write_text(OLD)
    program.chmod(0o755)
    real = subprocess.run(["which", "git"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return dict(os.environ) | {"PATH": f"{program.parent}:{os.environ['PATH']}", "REAL_GIT": real}


def test_a_git_that_is_too_old_is_named(
    tmp_path: Path, old_git: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", old_git["PATH"])  # the program is looked up on our own PATH
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "r")], check=True, env=old_git)
    with pytest.raises(RepositoryUnreadable, match=r"version 2\.30.*needs 2\.38"):
        Repository(tmp_path / "r", old_git).resolve(["main", "HEAD"])
    with pytest.raises(RepositoryUnreadable, match=r"version 2\.30"):
        refuse_old_git(old_git)


def test_options_that_no_git_knows_are_no_matter_of_age() -> None:
    assert run_git(["rev-parse", "--local-env-vars"], env=dict(os.environ)).status == 0
    assert run_git(["ls-remote", "--no-such-option"], env=dict(os.environ)).status == 129


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_changes_as_git_prints_them(tmp_path: Path, form: str) -> None:
    def git(*args: str, stdin: bytes = b"") -> bytes:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args]
        return subprocess.run(
            command, cwd=tmp_path, input=stdin, stdout=subprocess.PIPE, check=True
        ).stdout.strip()

    def tree(*entries: tuple[str, str, bytes]) -> str:
        rows = b"".join(f"{mode} {oid}\t".encode() + path + b"\0" for mode, oid, path in entries)
        git("read-tree", "--empty")
        git("update-index", "-z", "--index-info", stdin=rows)
        return git("write-tree").decode()

    git("init", "--quiet", f"--object-format={form}")
    one, two = (git("hash-object", "-w", "--stdin", stdin=text).decode() for text in (b"1", b"2"))
    gone = "1" * len(one)
    before = tree(("100644", one, b"a"), ("100644", one, b"gone\n\xff"), ("100644", one, b"x"))
    after = tree(
        ("100755", two, b"a"), ("120000", one, b"new:1"), ("160000", gone, b"sub"), ("100644", one, b"x")
    )
    raw = git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
    assert parse_changes(raw) == [
        Change(b"a", 0o100644, 0o100755, one, two),
        Change(b"gone\n\xff", 0o100644, 0, one, ABSENT),
        Change(b"new:1", 0, SYMLINK, ABSENT, one),
        Change(b"sub", 0, GITLINK, ABSENT, gone),
    ]
    assert parse_changes(b"") == []
