"""A board linted where boards stand: in working trees of every kind, in commits, beside a base; and nothing is touched."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from builders import NOW, Sample, Spec, play

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from running import Ran

QUEUED = ".agents/tasks/queued"
A, B, C = (f"{QUEUED}/T-20260301-0000000{letter}.md" for letter in "abc")
NEW = f"{QUEUED}/T-20260301-000000aa.md"
DONE = ".agents/tasks/done/T-20260301-0000000d.md"
DEAD = "[x](/docs/none.md)\n"


def text(number: int = 0xAA, state: str = "queued", body: str = "") -> str:
    """A task's file that holds, and then some."""
    return (
        f"---\nid: T-20260301-{number:08x}\ntitle: Another\nstatus: {state}\nclassification: feature\n"
        f"authority:\n  paths: [src/search/new/]\n---\n# Another\n\n## Acceptance\nIt is there.\n{body}"
    )


def errors(done: Ran) -> list[tuple[str, str]]:
    """Code and path of each error."""
    return [(f["code"], f["path"]) for f in done.report["findings"] if f["severity"] == "error"]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return play({}, tmp_path)


# -- the working tree -------------------------------------------------------------------------------


def test_the_board_as_it_stands_is_linted_and_not_as_it_was_committed(sample: Sample) -> None:
    assert errors(sample.lint()) == []
    sample.append(B, DEAD)
    assert errors(sample.lint()) == [("GK241", B)]
    sample.git("add", "--all")
    assert errors(sample.lint()) == [("GK241", B)]
    sample.git("commit", "--quiet", "-m", "x")
    assert errors(sample.lint()) == [("GK241", B)]
    sample.replace(B, [DEAD, ""])
    assert errors(sample.lint()) == []
    assert errors(sample.lint("--tree", "HEAD")) == [("GK241", B)]
    sample.git("add", "--all")
    sample.append(B, DEAD)
    sample.replace(B, [DEAD, ""])
    assert errors(sample.lint()) == []


def test_new_files_count_and_gone_ones_do_not(sample: Sample) -> None:
    sample.write(NEW, text(body="[x](/docs/new.md)\n"))
    assert errors(sample.lint()) == [("GK241", NEW)]
    sample.write("docs/new.md", "# New\n")
    assert errors(sample.lint()) == []
    sample.delete("docs/search.md")
    assert errors(sample.lint()) == [("GK241", B)]
    sample.git("checkout", "--", "docs/search.md")
    sample.git("rm", "--quiet", "--cached", "docs/search.md")
    assert errors(sample.lint()) == [], "what git was told to forget is there all the same"
    sample.delete(A)
    assert errors(sample.lint()) == [("GK231", C), ("GK303", ".agents/manifest.yml")]


def test_a_task_that_was_moved_by_hand(sample: Sample) -> None:
    sample.move(B, f"{QUEUED}/T-20260301-0000000b-search.md")
    assert errors(sample.lint()) == []
    sample.move(f"{QUEUED}/T-20260301-0000000b-search.md", B.replace("queued", "done"))
    assert errors(sample.lint()) == [("GK211", B.replace("queued", "done"))]


@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude"])
def test_a_board_that_git_ignores_is_linted_all_the_same(sample: Sample, where: str) -> None:
    sample.git("rm", "--quiet", "-r", "--cached", ".agents")
    sample.git("commit", "--quiet", "-m", "no board")
    sample.write(where, ".agents/\n.github/gatekeeper.yml\n")
    assert errors(sample.lint()) == []
    sample.append(B, DEAD)
    assert errors(sample.lint()) == [("GK241", B)]
    sample.write(".github/gatekeeper.yml", "version: 1\nclassifications: [feature, bug-fix, process]\n")
    assert errors(sample.lint()) == [("GK213", B), ("GK241", B)]
    sample.write("build/x.md", "x\n")
    sample.append(".gitignore", "build/\n")
    assert errors(sample.lint("--links-only")) == [("GK241", B)]


def test_what_is_only_intended_to_be_added(sample: Sample) -> None:
    sample.write(NEW, text(body=DEAD))
    sample.git("add", "--intent-to-add", NEW)
    assert errors(sample.lint()) == [("GK241", NEW)]


def test_a_merge_that_is_not_over(sample: Sample) -> None:
    sample.replace(B, ["Describe the search", "Describe it"])
    sample.commit("ours")
    sample.git("switch", "--quiet", "main")
    sample.replace(B, ["Describe the search", "Describe all of it"])
    sample.write(NEW, text())
    sample.commit("theirs")
    sample.git("switch", "--quiet", sample.branch)
    with pytest.raises(AssertionError):
        sample.git("merge", "--quiet", "main")
    assert errors(sample.lint()) == [("GK201", B)], "the marks of the conflict"
    sample.git("checkout", "--ours", B)
    assert sample.git("ls-files", "--unmerged")
    assert errors(sample.lint()) == []
    sample.delete(B)
    assert errors(sample.lint()) == [("GK303", ".agents/manifest.yml")]


def test_a_file_in_a_folders_place_and_the_other_way_round(sample: Sample) -> None:
    shutil.rmtree(sample.path / "docs")
    sample.write("docs", "a file\n")
    assert errors(sample.lint()) == [("GK241", B)]
    sample.delete("docs")
    sample.write("docs/search.md/page.md", "# Search\n\n## By author\n")
    assert errors(sample.lint()) == []


def test_a_link_in_a_folders_place_hides_what_was_below(sample: Sample) -> None:
    (sample.path / "docs").rename(sample.path / "handbook")
    (sample.path / "docs").symlink_to("handbook")
    assert errors(sample.lint()) == [("GK241", B)], "git knows the link's name, and nothing below"


@pytest.mark.parametrize("where", [A, "src/search/index.py"])
def test_a_pipe_keeps_nobody_waiting(sample: Sample, where: str) -> None:
    sample.delete(where)
    os.mkfifo(sample.path / where)
    done = sample.lint()
    assert done.status == 2
    assert where in done.err


def test_a_task_that_is_a_link(sample: Sample) -> None:
    sample.symlink(B, "../../../README.md")
    assert errors(sample.lint()) == [("GK201", B)]


def test_large_files_count_by_their_names(sample: Sample) -> None:
    size = (1 << 20) + 1
    sample.write("docs/large.md", "# Large\n" + "x" * size)
    sample.write("docs/large.txt", "x\n" * size)
    sample.append(B, "[a](/docs/large.md) [b](/docs/large.txt#L7) `docs/large.txt`\n")
    assert errors(sample.lint()) == []
    sample.append(B, "[c](/docs/large.md#large)\n")
    assert errors(sample.lint()) == [("GK242", B)]
    sample.write(A, text(0xA) + "x" * size)
    assert ("GK201", A) in errors(sample.lint())
    sample.commit("large")
    assert ("GK201", A) in errors(sample.lint())
    found = errors(sample.lint("--links-only", "docs/large.md"))
    assert found == [("GK241", "docs/large.md")], "what can't be read does not pass"


def test_windows_line_ends_in_the_working_tree(sample: Sample) -> None:
    sample.write(".gitattributes", "*.md text eol=crlf\n")
    for path in (A, B, "docs/search.md"):
        data = (sample.path / path).read_bytes().replace(b"\n", b"\r\n")
        (sample.path / path).write_bytes(data)
    assert errors(sample.lint()) == []
    sample.commit("attributes")
    assert errors(sample.lint()) == []
    (sample.path / B).write_bytes((sample.path / B).read_bytes() + b"\r\n" + DEAD.encode())
    done = sample.lint()
    assert errors(done) == [("GK241", B)]
    (line,) = [f["line"] for f in done.report["findings"] if f["code"] == "GK241"]
    assert (sample.path / B).read_text().splitlines()[line - 1].strip() == DEAD.strip()


def test_files_whose_times_alone_are_others(sample: Sample) -> None:
    for path in sample.path.rglob("*.md"):
        os.utime(path, (1, 1))
    assert errors(sample.lint()) == []


# -- repositories of every kind ----------------------------------------------------------------------


def test_a_repository_without_commits(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    assert errors(sample.lint()) == []
    sample.append(B, DEAD)
    assert errors(sample.lint()) == [("GK241", B)]
    assert sample.lint("--base", "main").status == 2
    assert sample.lint("--tree", "HEAD").status == 2


def test_an_empty_repository_and_one_without_a_board(tmp_path: Path) -> None:
    sample = Sample(tmp_path, [])
    assert errors(sample.lint()) == []
    sample.write("README.md", DEAD)
    assert errors(sample.lint()) == []
    assert errors(sample.lint("--links-only", "README.md")) == [("GK241", "README.md")]


def test_sha256(tmp_path: Path) -> None:
    sample = Sample(tmp_path, object_format="sha256")
    sample.commit("base")
    sample.write(NEW, text(body=DEAD))
    sample.write("docs/large.txt", "x" * (1 << 21))
    sample.delete("docs/search.md")
    assert errors(sample.lint()) == [("GK241", B), ("GK241", NEW)]


def test_a_linked_worktree_and_its_main_one_are_two(sample: Sample) -> None:
    sample.git("worktree", "add", "--quiet", "-b", "other", "../linked")
    main, sample.path = sample.path, sample.root / "linked"
    sample.append(B, DEAD)
    assert errors(sample.lint()) == [("GK241", B)]
    sample.path = main
    assert errors(sample.lint()) == []


def test_a_split_index(sample: Sample) -> None:
    sample.git("update-index", "--split-index")
    sample.append(B, DEAD)
    sample.git("add", B)
    assert list((sample.path / ".git").glob("sharedindex.*"))
    assert errors(sample.lint()) == [("GK241", B)]


def test_a_bare_repository_has_commits_alone(sample: Sample) -> None:
    sample.append(B, DEAD)
    sample.commit("dead")
    sample.clone("--bare")
    done = sample.lint()
    assert done.status == 2
    assert "--tree" in done.err
    assert errors(sample.lint("--tree", sample.branch)) == [("GK241", B)]
    assert errors(sample.lint("--tree", sample.branch, "--base", "main")) == [("GK241", B)]
    assert errors(sample.lint("--tree", sample.branch, A)) == []


def test_submodules_hold_whatever_is_in_them(sample: Sample) -> None:
    inner = sample.root / "inner"
    sample.git("init", "--quiet", "--initial-branch=main", str(inner))
    sample.git("-C", str(inner), "commit", "--quiet", "--allow-empty", "-m", "x")
    sample.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "vendor/lib")
    sample.append(B, "[a](/vendor/lib) [b](/vendor/lib/none.md#x) `vendor/lib/none.py`\n")
    assert errors(sample.lint()) == []
    (sample.path / "vendor/lib/README.md").write_text("changed\n")
    assert errors(sample.lint()) == []
    sample.append(B, "[c](/vendor/none.md)\n")
    assert errors(sample.lint()) == [("GK241", B)]


def test_another_repository_that_is_no_submodule_yet(sample: Sample) -> None:
    sample.git("init", "--quiet", "vendor/lib")
    sample.write("vendor/lib/README.md", "x\n")
    sample.append(B, "[a](/vendor/lib/README.md)\n")
    assert errors(sample.lint()) == []


def thin(sample: Sample, *options: str) -> Sample:
    """The sample in a clone of it that lacks blobs."""
    sample.commit("whole")
    for name in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        sample.git("config", name, "true")
    origin, sample.path = sample.path, sample.root / "thin"
    sample.path.mkdir()
    sample.git("clone", "--quiet", "--no-local", "--filter=blob:none", *options, f"file://{origin}", ".")
    return sample


def lacks(sample: Sample) -> int:
    """How many objects a clone lacks."""
    return sample.git("rev-list", "--all", "--objects", "--missing=print").count("?")


def test_a_partial_clone_is_lent_what_it_lacks(sample: Sample) -> None:
    sample.replace(B, ["A reader finds", "Anybody finds"])
    sample = thin(sample)
    assert (lacking := lacks(sample))
    assert errors(sample.lint()) == []
    assert errors(sample.lint("--tree", "origin/main", "--base", "origin/main")) == []
    assert lacks(sample) == lacking, "nothing was put into the clone"
    sample.git("remote", "set-url", "origin", "file:///nowhere")
    assert errors(sample.lint()) == []
    assert sample.lint("--tree", "origin/main").status == 2


def test_a_sparse_checkout_of_a_partial_clone(sample: Sample) -> None:
    sample.append(A, DEAD)
    sample = thin(sample, "--sparse")
    assert not (sample.path / B).exists()
    assert errors(sample.lint()) == [("GK241", A)]
    sample.git("sparse-checkout", "set", "--cone", "--sparse-index", ".agents/tasks/queued")
    sample.append(B, DEAD)
    assert errors(sample.lint()) == [("GK241", A), ("GK241", B)]


def test_a_hook_that_git_runs_points_at_its_own_index(sample: Sample) -> None:
    sample.append(B, DEAD)
    env = {"GIT_DIR": str(sample.path / ".git"), "GIT_INDEX_FILE": "nowhere", "GIT_PREFIX": ""}
    done = sample.run("--now", NOW, "lint", "--format", "json", env=env)
    assert errors(done) == [("GK241", B)]
    env = {"GIT_DIR": ".git", "GIT_WORK_TREE": "."}
    assert errors(sample.run("--now", NOW, "lint", "--format", "json", env=env)) == [("GK241", B)]
    sample.path /= "docs"
    env = {"GIT_DIR": "../.git", "GIT_WORK_TREE": ".."}
    assert errors(sample.run("--now", NOW, "lint", "--format", "json", env=env)) == [("GK241", B)]


# -- boards that are no folders -----------------------------------------------------------------------


@pytest.mark.parametrize("folder", [".agents", ".agents/tasks", ".agents/tasks/queued", ".agents/decisions"])
@pytest.mark.parametrize("what", ["link", "file"])
def test_a_board_that_is_no_folder_can_not_be_judged(sample: Sample, folder: str, what: str) -> None:
    place = sample.path / folder
    if place.exists():
        place.rename(sample.path / "elsewhere")
    if what == "link":
        place.symlink_to(sample.path / "elsewhere")
    else:
        place.write_text("x\n")
    done = sample.lint()
    assert done.status == 2
    assert folder in done.err


@pytest.mark.parametrize("folder", [".agents", ".agents/tasks"])
def test_a_board_in_a_repository_of_its_own_is_to_be_linted_there(tmp_path: Path, folder: str) -> None:
    sample = Sample(tmp_path)
    sample.git("init", "--quiet", folder)
    done = sample.lint()
    assert done.status == 2
    assert folder in done.err
    sample.path /= folder
    assert sample.lint().status == 0


@pytest.mark.parametrize(("where", "status"), [(".agents/tasks/", 2), ("docs/", 0)])
def test_a_tree_as_deep_as_trees_can_be(sample: Sample, where: str, status: int) -> None:
    blob = sample.git("hash-object", "-w", "--stdin", stdin="x\n")
    deep = f"M 100644 {blob} {where}{'a/' * 1500}x.md\n"
    head = "commit refs/heads/deep\ncommitter x <x@example.com> 1773046800 +0000\ndata 1\nx\nfrom refs/heads/main\n"
    sample.git("fast-import", "--quiet", stdin=head + deep)
    for args in ([], ["--base", "main"], ["--links-only"], ["--links-only", where.rstrip("/")]):
        done = sample.lint("--tree", "deep", *args)
        expected = 2 if "docs" in args else status
        assert done.status == expected
        assert done.codes <= {"GK005", "GK253"}


# -- nothing is touched --------------------------------------------------------------------------------


def stamp(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every file of a folder: its bytes, and of the index and the working tree its time as well."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not path.is_symlink():
            timed = path.stat().st_mtime_ns if not name.startswith(".git/objects/") else 0
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest(), timed
        else:
            found[name] = (path.is_symlink(),)
    return found


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--base", "main"],
        ["--tree", "HEAD"],
        ["--links-only", "."],
        ["--fix"],
        ["--tree", "none"],
        [".agents"],
    ],
    ids=" ".join,
)
def test_the_clone_is_left_as_it_was(sample: Sample, args: list[str]) -> None:
    sample.append(B, DEAD)
    sample.git("add", B)
    sample.append(A, "more\n")
    sample.write(NEW, text())
    os.utime(sample.path / "README.md", (1, 1))
    before = stamp(sample.path)
    sample.lint(*args)
    assert stamp(sample.path) == before


def test_no_program_of_the_repositorys_owner_is_run(sample: Sample) -> None:
    ran = sample.root / "ran"
    script = sample.root / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "filter.f.smudge",
        "diff.f.command",
        "diff.f.textconv",
        "diff.external",
    ):
        sample.git("config", name, str(script))
    sample.git("config", "core.hooksPath", str(sample.root))
    sample.write(".gitattributes", "* filter=f diff=f\n")
    sample.write(NEW, text())
    sample.append(B, "x\n")
    os.utime(sample.path / A, (1, 1))
    assert errors(sample.lint("--base", "main")) == []
    assert not ran.exists()


# -- beside a base -------------------------------------------------------------------------------------


def test_what_base_got_meanwhile_is_not_missed(sample: Sample) -> None:
    sample.git("switch", "--quiet", "main")
    sample.write(NEW, text())
    sample.commit("a task more")
    sample.git("switch", "--quiet", sample.branch)
    assert errors(sample.lint("--base", "main")) == []
    sample.delete(B)
    assert ("GK226", B) in errors(sample.lint("--base", "main"))


def test_an_id_that_changed_with_its_files_name(sample: Sample) -> None:
    new = B.replace("0000000b", "000000bb")
    sample.move(B, new)
    sample.replace(new, ["0000000b", "000000bb"])
    sample.replace(".agents/manifest.yml", ["0000000b", "000000bb"])
    assert errors(sample.lint("--base", "main")) == [("GK225", new)]
    assert errors(sample.lint()) == []
    sample.commit("renamed")
    assert errors(sample.lint("--tree", "HEAD", "--base", "main")) == [("GK225", new)]
    assert errors(sample.lint("--base", "HEAD")) == []


@pytest.mark.parametrize(("now", "codes"), [(NOW, [("GK226", DONE)]), ("2026-04-20T00:00:00Z", [])])
def test_a_task_that_ended_may_go_after_the_retention(
    sample: Sample, now: str, codes: list[tuple[str, str]]
) -> None:
    sample.delete(DONE)
    sample.replace(".agents/manifest.yml", [", T-20260301-0000000d", ""])
    sample.replace(f"{QUEUED}/T-20260301-0000000f.md", ["depends_on: [T-20260301-0000000d]\n", ""])
    assert errors(sample.lint("--base", "main", now=now)) == codes


def test_where_history_is_cut_nobody_says_that_a_task_is_gone_too_soon(tmp_path: Path) -> None:
    sample = Sample(tmp_path, ["shop", "planless"])
    sample.write(".agents/tasks/done/T-20260201-000000aa.md", text(state="done").replace("0301", "0201"))
    sample.commit("long ago")
    sample.clock += 40 * 86_400
    sample.append("README.md", "x\n")
    sample.commit("now")
    sample.clone("--depth=1")
    later = "2026-04-20T00:00:00Z"
    assert sample.lint("--base", "HEAD", now=later).status == 0
    sample.delete(".agents/tasks/done/T-20260201-000000aa.md")
    done = sample.lint("--base", "HEAD", now=later)
    assert (done.status, done.codes) == (2, {"GK002"})
    assert "unshallow" in done.err
    sample.git("fetch", "--quiet", "--unshallow")
    assert sample.lint("--base", "HEAD", now=later).status == 0


def test_a_base_that_has_nothing_in_common(sample: Sample) -> None:
    sample.git("checkout", "--quiet", "--orphan", "alone")
    sample.git("commit", "--quiet", "-m", "alone")
    assert errors(sample.lint("--base", "main")) == []
    sample.delete(B)
    assert ("GK226", B) in errors(sample.lint("--base", "main"))


# -- the planning lane -----------------------------------------------------------------------------------

OPERATOR = ("--author", "octocat", "--operator", "octocat")
NOTES = ".agents/notes.md"
Case = tuple[list[Spec], list[Spec], list[tuple[str, str]]]
CASES: dict[str, Case] = {
    "a note is gone": (
        [{"write": {NOTES: "# Notes\n"}}, {"append": {B: "[x](/.agents/notes.md)\n"}}],
        [{"delete": NOTES}],
        [("GK241", B)],
    ),
    "a note is renamed": (
        [{"write": {NOTES: "# Notes\n"}}, {"append": {B: "`.agents/notes.md`\n"}}],
        [{"move": {NOTES: ".agents/notices.md"}}],
        [("GK241", B)],
    ),
    "a folder is gone": (
        [{"write": {".agents/talk/x.md": "# X\n"}}, {"append": {B: "[x](/.agents/talk)\n"}}],
        [{"delete": ".agents/talk/x.md"}],
        [("GK241", B)],
    ),
    "a submodule is gone": (
        [{"gitlink": {".agents/lib": "1" * 40}}, {"append": {B: "[x](/.agents/lib/none.md)\n"}}],
        [{"git": "rm --quiet --cached .agents/lib"}, {"git": "commit --quiet -m x"}],
        [("GK241", B)],
    ),
    "a task moves": (
        [{"append": {B: f"[x](/{A})\n"}}],
        [{"finish": {"task": "T-20260301-0000000a", "state": "cancelled"}}, {"replace": {A.replace("queued", "cancelled"): ["created:", "reason: no\ncreated:"]}}],
        [("GK241", B)],
    ),
    "a name that is spelt in another way": (
        [{"write": {".agents/my notes.md": "# N\n"}}, {"append": {B: "[x](/.agents/my%20notes.md)\n"}}],
        [{"delete": ".agents/my notes.md"}],
        [("GK241", B)],
    ),
    "a heading is renamed": (
        [{"write": {NOTES: "# Notes\n"}}, {"append": {B: "[x](/.agents/notes.md#notes)\n"}}],
        [{"write": {NOTES: "# Notices\n"}}],
        [("GK242", B)],
    ),
    "a heading of a page by another ending": (
        [{"write": {".agents/n.MARKDOWN": "# Notes\n"}}, {"append": {B: "[x](/.agents/n.MARKDOWN#notes)\n"}}],
        [{"write": {".agents/n.MARKDOWN": "# Notices\n"}}],
        [("GK242", B)],
    ),
    "a file has fewer lines": (
        [{"write": {".agents/n.txt": "1\n2\n"}}, {"append": {B: "[x](/.agents/n.txt#L2)\n"}}],
        [{"write": {".agents/n.txt": "1\n"}}],
        [("GK242", B)],
    ),
    "a new task with a dead link": ([], [{"write": {NEW: text(body=DEAD)}}], [("GK241", NEW)]),
    "a dead link in a task that had none": ([], [{"append": {B: DEAD}}], [("GK241", B)]),
    "a dead link that base has": ([{"append": {B: DEAD}}], [{"append": {A: "More.\n"}}], []),
    "a dead link that base has in the task that changes": ([{"append": {B: DEAD}}], [{"append": {B: "More.\n"}}], []),
    "a dead link of base in a task that gets another name": (
        [{"append": {B: DEAD}}],
        [{"move": {B: B.replace(".md", "-search.md")}}],
        [],
    ),
    "a dead link is mended": ([{"append": {B: DEAD}}], [{"replace": {B: [DEAD, ""]}}], []),
    "what was missing is made": (
        [{"append": {B: "[x](/.agents/notes.md)\n"}}],
        [{"write": {NOTES: "# Notes\n"}}],
        [],
    ),
    "a finished task points at what goes": (
        [{"write": {NOTES: "# Notes\n"}}, {"append": {DONE: "[x](/.agents/notes.md)\n"}}],
        [{"delete": NOTES}],
        [],
    ),
    "the last task leaves a folder": (
        [{"append": {B: "[x](/.agents/tasks/blocked/)\n"}}],
        [{"finish": {"task": "T-20260301-00000010", "state": "queued"}}],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_planning_change_answers_for_the_links_that_it_breaks(tmp_path: Path, name: str) -> None:
    base, edits, codes = CASES[name]
    done = play({"base": base, "edits": edits}, tmp_path).check(*OPERATOR)
    assert done.report["lane"] == "planning"
    assert errors(done) == codes


def test_a_policy_that_makes_errors_of_warnings_holds_in_planning_too(tmp_path: Path) -> None:
    policy = "version: 1\nseverity: {GK212: error, GK253: error}\n"
    base: list[Spec] = [{"write": {".github/gatekeeper.yml": policy}}]
    edits: list[Spec] = [{"write": {".agents/tasks/active/x.md": "x\n", NEW: text()}}]
    done = play({"base": base, "edits": edits}, tmp_path).check(*OPERATOR)
    assert errors(done) == [("GK212", ".agents/tasks/active/x.md"), ("GK253", NEW)]


# -- what the rules see -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "codes"),
    [
        (lambda s: s.write(".agents/tasks/queued/sub/x.md", "x\n"), {"GK212"}),
        (lambda s: s.write(".agents/tasks/queued/T-20260301-000000aa.MD", "x\n"), {"GK212"}),
        (lambda s: s.write(".agents/tasks/readme.md", "x\n"), set()),
        (lambda s: s.write(".agents/notes.txt", "x\n"), set()),
    ],
)
def test_strays(sample: Sample, edit: Callable[[Sample], None], codes: set[str]) -> None:
    edit(sample)
    assert sample.lint().codes - {"GK253"} == codes
