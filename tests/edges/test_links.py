"""Where changed symlinks lead (GK145): whatever stands in their blobs, and however long the way."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from builders import Sample, Spec, play

if TYPE_CHECKING:
    from pathlib import Path

TASK = "T-20260301-0000000b"
FILE = f".agents/tasks/queued/{TASK}.md"
CLAIM = {"live": {"task": TASK, "locks": ["handbook"]}}
LONGEST = 4095


def linked(root: Path, links: dict[str, bytes], *, paths: str = "['**']", policy: str = "") -> Sample:
    """A branch that finishes the task, whose authority is `paths`, and brings links with these very blobs."""
    base: list[Spec] = [{"replace": {FILE: ["[docs/]", paths]}}]
    if policy:
        base.append({"write": {".github/gatekeeper.yml": policy}})
    base.append({"write": {"docs/team/guide.md": "x\n", "docs/team/CODEOWNERS": "* @x\n", "Src/x.py": "1\n"}})
    base.append({"gitlink": {"vendor/lib": "1" * 40}})
    sample = play({"base": base, "edits": [{"finish": TASK}], "claims": [CLAIM]}, root)
    entries = [f"120000 {blob(sample, data)}\t{path}" for path, data in links.items()]
    sample.git("update-index", "--add", "--index-info", stdin="".join(f"{entry}\n" for entry in entries))
    sample.git("commit", "--quiet", "--amend", "--no-edit")
    return sample


def blob(sample: Sample, data: bytes) -> str:
    """A blob of these bytes."""
    command = ["git", "hash-object", "-w", "--stdin"]
    done = subprocess.run(
        command, cwd=sample.path, env=sample.env, input=data, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def escapes(sample: Sample) -> dict[str, str]:
    """What the check says of each link that escapes; nothing else may be wrong."""
    report = sample.check().report
    assert {f["code"] for f in report["findings"] if f["severity"] == "error"} <= {"GK145"}, report
    return {f["path"]: f["message"] for f in report["findings"] if f["code"] == "GK145"}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (b"../src/search/index.py\0/../../docs/search.md", "NUL"),
        (b"search.md\0", "NUL"),
        (b"", "empty"),
        (b"x/" * 40_000, "longer"),
        (b"./" * 2047 + b"ab", "longer"),
        (b"a" * (1 << 20) + b"b", "longer"),  # too large to be read at all
        (b"..\\src\\search\\index.py", "backslash"),
        (b"C:/Windows", "absolute"),
        (b"/etc/passwd", "absolute"),
        (b"../../etc/passwd", "out of the repository"),
        (b"link", "circle"),
        (b"../src/search/index.py", "outside the authority"),
    ],
)
def test_what_no_checkout_takes_for_a_path_inside_is_refused(tmp_path: Path, target: bytes, why: str) -> None:
    found = escapes(linked(tmp_path, {"docs/link": target}, paths="[docs/]"))
    assert why in found["docs/link"]


@pytest.mark.parametrize(
    "target",
    [
        b"search.md",
        b"./team/..//search.md",
        b"team",
        b"missing.md",
        b"./" * 2046 + b"abc",
        b"\xff",
        b"../docs/team",
    ],
)
def test_what_leads_inside_is_let_be(tmp_path: Path, target: bytes) -> None:
    assert len(target) <= LONGEST
    assert not escapes(linked(tmp_path, {"docs/link": target}, paths="[docs/]"))


def test_a_tree_is_no_links_text(tmp_path: Path) -> None:
    sample = linked(tmp_path, {})
    tree = sample.git("rev-parse", "HEAD:docs")
    sample.git("update-index", "--add", "--index-info", stdin=f"120000 {tree}\tdocs/link\n")
    made = sample.git("commit-tree", "-p", "HEAD", "-m", "x", sample.git("write-tree", "--missing-ok"))
    sample.git("update-ref", f"refs/heads/{sample.branch}", made)
    assert "can't be read" in escapes(sample)["docs/link"]


@pytest.mark.parametrize(
    "target",
    [
        "..",
        "../.github",
        "../.GitHub",  # another name to git, the same to some file systems
        "../.github/workflows",
        "../.github/workflows/new.yml",
        "../.agents",
        "../.agents/tasks",
        "../.agents/tasks/queued",
        "../.agents/decisions",
        "../.agents/plan.md",
        "../.git",
        "../.git/config",
        "../.GIT/hooks/post-checkout",
        "../src/.git/config",
        "../git~1/config",
        "../.git /config",
        "../.git::$INDEX_ALLOCATION/config",
        "../.g\u200cit/config",
        "team/CODEOWNERS",
        "team/codeowners/x",
    ],
)
def test_what_is_protected_is_in_no_wide_authority(tmp_path: Path, target: str) -> None:
    assert "docs/link" in escapes(linked(tmp_path, {"docs/link": target.encode()}))


@pytest.mark.parametrize(
    "target",
    ["../src", "../src/orders", "team", "search.md", "../nowhere", "../.gitignore", "../docs/.github2"],
)
def test_a_wide_authority_holds_what_nothing_protects(tmp_path: Path, target: str) -> None:
    assert not escapes(linked(tmp_path, {"docs/link": target.encode()}))


def test_the_boards_own_files_are_guarded_where_the_policy_protects_nothing(tmp_path: Path) -> None:
    links = {
        "a": b".github",
        "b": b".agents",
        "c": b".agents/proposals",
        "d": b".GITHUB",
        "e": b".github/workflows",
    }
    found = escapes(linked(tmp_path, links, policy="version: 1\nprotected: []\n"))
    assert set(found) == {"a", "b", "d"}


def test_a_folder_named_literally_holds_nothing_protected_below(tmp_path: Path) -> None:
    found = escapes(
        linked(tmp_path, {"docs/link": b"../.github/workflows"}, paths="[docs/, .github/workflows]")
    )
    assert "docs/link" in found


def test_a_protected_file_named_literally_is_inside(tmp_path: Path) -> None:
    links = {"docs/link": b"../.github/workflows/ci.yml"}
    assert not escapes(linked(tmp_path, links, paths="[docs/, .github/workflows/ci.yml]"))


def test_a_protected_pattern_that_begins_anywhere_guards_where_a_name_fits(tmp_path: Path) -> None:
    policy = "version: 1\nprotected: ['**/Keys/private/**', 'Src/**/secret']\n"
    links = {
        "a": b"docs",
        "b": b"docs/keys",
        "c": b"docs/KEYS/private",
        "d": b"docs/keys/public",
        "e": b"Src",
    }
    found = escapes(linked(tmp_path, links, policy=policy))
    assert set(found) == {"b", "c", "e"}


def test_a_link_through_links_ends_where_they_end(tmp_path: Path) -> None:
    links = {"docs/a": b"b/../search.md", "docs/b": b"team", "docs/c": b"b/../../src", "docs/d": b"c/search"}
    assert set(escapes(linked(tmp_path, links, paths="[docs/]"))) == {"docs/c", "docs/d"}


@pytest.mark.parametrize(("hops", "lost"), [(40, set()), (41, {"docs/n40"})])
def test_forty_links_on_one_way_and_no_more(tmp_path: Path, hops: int, lost: set[str]) -> None:
    links = {f"docs/n{n}": f"n{n - 1}".encode() for n in range(1, hops)} | {"docs/n0": b"search.md"}
    assert set(escapes(linked(tmp_path, links, paths="[docs/]"))) == lost


def test_many_links_of_many_names_each_do_not_take_long(tmp_path: Path) -> None:
    chain = {f"docs/n{n}": b"./" * 2000 + f"../docs/n{n - 1}".encode() for n in range(1, 40)}
    many = {f"docs/m{n}": b"x/../" * 800 + b"n38" for n in range(600)}
    sample = linked(tmp_path, {"docs/n0": b"search.md"} | chain | many, paths="[docs/]")
    began = time.monotonic()
    found = escapes(sample)
    assert time.monotonic() - began < 8, "walked for as long as the links had it"
    assert any("too far" in message for message in found.values()), "what is not followed is never inside"
