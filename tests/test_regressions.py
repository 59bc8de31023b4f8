"""What once went wrong, and must not again: `regressions/*.yml`, and below what a description can't make.

The descriptions are those of `builders`; `errors` are the codes of all errors, `lane` the lane.
Where a laptop and the action read by different ways, both are asked.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from builders import NOW, Ran, Sample, listed, load, play
from running import as_process, sound
from worktree import BRANCH, WORK_BEGAN

TASK = "T-20260301-0000000a"
CLAIM = f"refs/swarm/task-claims/{TASK}"
ARCHIVE = "refs/swarm/claim-archive"
FILES = sorted((Path(__file__).parent / "regressions").glob("*.yml"))
CASES: dict[str, dict[str, Any]] = {
    name: spec for file in FILES for name, spec in load(file.read_text()).items()
}
HONEST = {"edits": [{"finish": TASK}], "claims": [{"live": {"task": TASK}}]}
LOGGED = {"edits": [{"finish": TASK}], "claims": [{"released": {"task": TASK, "extra": {"outcome": "done"}}}]}


def errors(done: Ran) -> set[str]:
    """The codes that are found as errors."""
    return {code for code, severities in done.severities.items() if "error" in severities}


def raw(sample: Sample, *args: str, stdin: bytes = b"") -> bytes:
    """What git prints, byte for byte."""
    command = ["git", *args]
    done = subprocess.run(
        command, cwd=sample.path, env=sample.env, input=stdin, capture_output=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def action(sample: Sample) -> Ran:
    """Run the action on the branch's pull request, out of a mirror of the repository; its report is the output."""
    forge, name, space = sample.root / "forge", "owner/app", sample.root / "space"
    sample.git("clone", "--quiet", "--mirror", ".", str(forge / name))
    for setting in ("allowFilter", "allowAnySHA1InWant"):
        sample.git("-C", str(forge / name), "config", f"uploadpack.{setting}", "true")
    space.mkdir()
    event = sample.root / "event.json"
    event.write_text(json.dumps(pull_request(sample, name)))
    environ = {
        "INPUT_NOW": NOW,
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request_target",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_WORKSPACE": str(space),
        "GITHUB_SERVER_URL": f"file://{forge}",
        "GITHUB_REPOSITORY": name,
    }
    done = as_process(["action"], sample.env | environ, space)
    told = Ran(done.status, (space / "gatekeeper-report.json").read_text(), done.err)
    sound(told)
    return told


def pull_request(sample: Sample, name: str) -> dict[str, Any]:
    """GitHub's event, as far as the action reads it."""
    sides = {
        side: {
            "ref": branch,
            "sha": sample.git("rev-parse", f"refs/heads/{branch}"),
            "repo": {"full_name": name},
        }
        for side, branch in (("base", "main"), ("head", sample.branch))
    }
    return {
        "number": 1,
        "repository": {"full_name": name},
        "pull_request": {"number": 1, "user": {"login": "ann"}, **sides},
    }


def both(sample: Sample) -> list[Ran]:
    """The laptop's verdict and the action's."""
    return [sample.check(), action(sample)]


@pytest.mark.parametrize("name", CASES)
def test_regressions(name: str, tmp_path: Path) -> None:
    spec = CASES[name]
    done = play(spec, tmp_path).check(*str(spec.get("args", "")).split())
    assert errors(done) == set(listed(spec["errors"])), done.out
    assert done.verdict == ("fail" if spec["errors"] else "pass")
    assert done.report["lane"] == spec.get("lane", "implementation")


# -- base pulled crosswise: the pull's first parent is not the branch that was published ------------


def crosswise(root: Path) -> Sample:
    """Main's tip merges what was on main before into what was not; the branch forked off the former."""
    sample = Sample(root)
    sample.commit("base")
    sample.append("docs/search.md", "R\n")
    sample.commit("R")
    sample.git("switch", "--quiet", "-C", "dev", "main~1")
    sample.append("README.md", "X\n")
    sample.commit("X")
    sample.git("merge", "--quiet", "--no-edit", "main")
    sample.git("branch", "--quiet", "--force", "main", "dev")
    sample.git("switch", "--quiet", "-C", BRANCH, "dev^2")
    sample.branch, sample.clock = BRANCH, WORK_BEGAN
    sample.finish(TASK)
    sample.commit("work")
    return sample


def test_an_honest_claim_where_base_was_pulled_crosswise(tmp_path: Path) -> None:
    sample = crosswise(tmp_path)
    sample.claim("live", {"task": TASK, "at": "main^2"})
    for done in both(sample):
        assert done.verdict == "pass", done.out


def test_a_superseded_claim_where_base_was_pulled_crosswise(tmp_path: Path) -> None:
    sample = crosswise(tmp_path)
    earlier = {"claimedAt": "2026-03-10T10:30:00.000Z", "extra": {"outcome": "done"}}
    sample.claim("released", {"task": TASK, "at": "main", **earlier})
    sample.claim("live", {"task": TASK, "at": "main^2", "branch": "agent/other"})
    for done in both(sample):
        assert errors(done) == {"GK113"}, done.out


# -- trees, commits and refs that git's own tools would not make -------------------------------------


def test_a_symbolic_links_target_that_ends_at_a_nul(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    target = b"../search/index.py\0/../../orders/cart.py"
    blob = raw(sample, "hash-object", "-w", "--stdin", stdin=target).decode().strip()
    sample.git("update-index", "--add", "--cacheinfo", f"120000,{blob},src/orders/link")
    sample.git("commit", "--quiet", "-m", "link")
    for done in both(sample):
        assert "GK145" in errors(done), done.out


def test_a_tree_with_a_folder_twice(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    blob = sample.git("hash-object", "-w", "--stdin", stdin="on: push\n")
    flows = sample.git("mktree", stdin=f"100644 blob {blob}\tevil.yml\n")
    folder = sample.git("mktree", stdin=f"040000 tree {flows}\tworkflows\n")
    twice = b"40000 .github\0" + bytes.fromhex(folder) + raw(sample, "cat-file", "tree", "HEAD^{tree}")
    made = raw(sample, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=twice)
    sample.git(
        "update-ref", "HEAD", sample.git("commit-tree", made.decode().strip(), "-p", "main", "-m", "x")
    )
    assert ".github/workflows/evil.yml" in sample.git("diff", "--name-only", "main", "HEAD")
    for done in both(sample):
        assert errors(done) == {"GK005"}, done.out


def test_a_standing_claims_ref_that_is_an_empty_file(tmp_path: Path) -> None:
    sample = play(LOGGED, tmp_path)
    assert sample.check().verdict == "pass"
    if (sample.path / ".git" / "reftable").is_dir():
        pytest.skip("among reftables no ref has a file of its own: test_reftable.py breaks a table")
    ref = sample.path / ".git" / CLAIM
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text("")
    assert errors(sample.check()) == {"GK005"}, "it may hold the claim that says no"


def test_a_branch_called_head(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    sample.git("update-ref", "refs/heads/HEAD", "HEAD")
    sample.append("src/search/index.py", "x = 1\n")
    sample.commit("outside")
    done = sample.call("--now", NOW, "check", "--base", "main", "--format", "json")
    assert errors(done) == {"GK141"}, done.out


def test_a_line_after_the_committer_that_reads_like_a_parent(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    head, message = raw(sample, "cat-file", "commit", "HEAD").split(b"\n\n", 1)
    odd = head + b"\nparent " + b"d" * 40 + b"\n\n" + message
    made = raw(sample, "hash-object", "-t", "commit", "-w", "--stdin", stdin=odd).decode().strip()
    sample.git("update-ref", "HEAD", made)
    sample.git("fsck", "--strict")
    for done in both(sample):
        assert done.verdict == "pass", done.out


def test_a_plan_of_a_mode_that_git_wrote_long_ago(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    sample.commit("base")
    board = sample.git(
        "mktree", stdin=sample.git("ls-tree", "HEAD:.agents").replace("100644", "100664") + "\n"
    )
    now = sample.git("rev-parse", "HEAD:.agents")
    tree = sample.git("mktree", stdin=sample.git("ls-tree", "HEAD").replace(now, board) + "\n")
    sample.git("update-ref", "HEAD", sample.git("commit-tree", tree, "-p", "HEAD", "-m", "old"))
    assert b"100664 plan.md" in raw(sample, "cat-file", "tree", "HEAD:.agents")
    sample.start_branch()
    sample.finish(TASK)
    sample.commit("work")
    sample.claim("live", {"task": TASK})
    for done in both(sample):
        assert done.verdict == "pass", done.out


# -- the claims' archive ----------------------------------------------------------------------------


def archive(sample: Sample, entries: str) -> None:
    """Let the archive be a commit whose tree holds these entries, as `ls-tree` lists them, in the task's folder."""
    folder = sample.git("mktree", "--missing", stdin=entries)
    root = sample.git("mktree", stdin=f"040000 tree {folder}\t{TASK}\n")
    sample.git("update-ref", ARCHIVE, sample.git("commit-tree", root, "-m", "archive"))


def malformed(done: Ran, ref: str) -> None:
    """The one error is that what stands at `ref` can't be read as a claim."""
    assert errors(done) == {"GK116"}, done.out
    (found,) = (finding for finding in done.report["findings"] if finding["code"] == "GK116")
    assert found["message"].startswith(f"{ref} can't be read as a claim: it holds a ")


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_an_archive_that_is_no_commit(kind: str, tmp_path: Path) -> None:
    sample = play(LOGGED, tmp_path)
    sample.git("tag", "-a", "-m", "x", "marked", "main")
    oids = {"blob": "main:README.md", "tree": "main^{tree}", "tag": "refs/tags/marked"}
    sample.git("update-ref", ARCHIVE, sample.git("rev-parse", oids[kind]))
    for done in both(sample):
        malformed(done, ARCHIVE)
        assert f"it holds a {kind}," in done.out


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("160000 commit", False), ("160000 commit", True), ("120000 blob", False), ("040000 tree", False)],
)
def test_an_archive_with_something_else_in_a_log_entrys_place(
    kind: str, missing: bool, tmp_path: Path
) -> None:
    sample = play(LOGGED, tmp_path)
    stands = {"commit": "main", "blob": "main:README.md", "tree": "main:src"}
    oid = "1" * 40 if missing else sample.git("rev-parse", stands[kind.split()[1]])
    archive(sample, f"{kind} {oid}\t20260309T110000000Z.json\n")
    for done in both(sample):
        malformed(done, f"{ARCHIVE}:{TASK}/20260309T110000000Z.json")


def test_an_archive_with_something_else_in_the_place_of_the_tasks_folder(tmp_path: Path) -> None:
    sample = play(LOGGED, tmp_path)
    root = sample.git("mktree", "--missing", stdin=f"160000 commit {'1' * 40}\t{TASK}\n")
    sample.git("update-ref", ARCHIVE, sample.git("commit-tree", root, "-m", "archive"))
    for done in both(sample):
        malformed(done, f"{ARCHIVE}:{TASK}")


def test_an_archive_is_read_whatever_else_lies_in_it(tmp_path: Path) -> None:
    sample = play({"edits": [{"finish": TASK}]}, tmp_path)
    text = json.dumps(sample.claim_fields({"task": TASK, "extra": {"outcome": "done"}}))
    entry = sample.git("hash-object", "-w", "--stdin", stdin=text)
    link = f"160000 commit {'1' * 40}\tvendored\n"
    archive(sample, f"100644 blob {entry}\t20260310T111500000Z.json\n100644 blob {entry}\tREADME\n{link}")
    for done in both(sample):
        assert done.verdict == "pass", done.out


# -- refs in the way of the task's own ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("ref", "severity"),
    [
        (f"refs/swarm/claim-log/{TASK}", "warning"),
        (f"refs/swarm/claim-log/{TASK}/20260310T111500000Z/x", "warning"),
        (f"{ARCHIVE}/x", "warning"),
        (f"{CLAIM}/x", "error"),
    ],
)
def test_a_ref_where_a_folder_belongs(ref: str, severity: str, tmp_path: Path) -> None:
    standing = not ref.startswith(CLAIM)
    sample = play(HONEST if standing else LOGGED, tmp_path)
    blob = sample.git("hash-object", "-w", "--stdin", stdin="hello\n")
    sample.git("update-ref", ref, blob)
    for done in both(sample):
        assert done.severities["GK116"] == {severity}, done.out
        assert done.verdict == ("pass" if standing else "fail")
    if standing:
        sample.git("update-ref", "-d", CLAIM)
        assert errors(sample.check()) == {"GK116"}


def test_the_claims_of_a_task_whose_id_begins_with_anothers(tmp_path: Path) -> None:
    sample = play(LOGGED, tmp_path)
    sample.claim("live", {"task": f"{TASK}/004"})
    sample.claim("released", {"task": f"{TASK}/004"})
    for done in both(sample):
        assert done.severities.keys() == set(), done.out


# -- what git or the system makes of odd trees and settings ----------------------------------------------


def test_folders_as_deep_as_anyone_likes(tmp_path: Path) -> None:
    sample = play({}, tmp_path)
    tree = sample.git("rev-parse", "HEAD:docs")
    for _ in range(1200):
        tree = sample.git("mktree", stdin=f"040000 tree {tree}\ta\n")
    for folder in ("HEAD:.agents/tasks/queued", "HEAD:.agents/tasks", "HEAD:.agents", "HEAD:"):
        name = {"queued": "a", "tasks": "queued", ".agents": "tasks", "": ".agents"}[
            folder[5:].rpartition("/")[2]
        ]
        rows = [row for row in sample.git("ls-tree", folder).split("\n") if row.rpartition("\t")[2] != name]
        tree = sample.git("mktree", stdin="\n".join([*rows, f"040000 tree {tree}\t{name}"]) + "\n")
    sample.git("update-ref", "HEAD", sample.git("commit-tree", tree, "-p", "HEAD", "-m", "deep"))
    done = sample.check("--author", "octocat", "--operator", "octocat")
    assert errors(done) == {"GK005"}
    assert "more than 100 deep" in done.out


@pytest.mark.parametrize("path", [".:{}", ":{}", "{}:", "./bin:{}:"])
def test_a_path_that_leads_into_the_repository(path: str, tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    for name in ("git", "bin/git"):
        sample.write(name, '#!/bin/sh\ntouch ../ran\nexec /usr/bin/git "$@"\n')
        sample.chmod(name, "755")
    done = sample.run("check", "--base", "main", env={"PATH": path.format(sample.env["PATH"])})
    assert done.status == 0, done.err
    assert not (tmp_path / "ran").exists()
    nowhere = sample.run("check", "--base", "main", env={"PATH": "."})
    assert (nowhere.status, "not on the PATH" in nowhere.err) == (2, True), nowhere.err
