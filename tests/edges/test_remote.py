"""Fetching into an empty view: what decides comes over, whatever the history's shape, and nothing else does."""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatekeeper.claims import refs
from gatekeeper.edges.claimrefs import MOST_BASES, LocalClaims, RemoteClaims
from gatekeeper.edges.git import Repository, View, view_over
from gatekeeper.edges.remote import Remote, redacted, secrets
from gatekeeper.errors import HistoryMissing, RemoteUnreachable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gatekeeper.edges.git import Done

START = 1_700_000_000
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}


def git(folder: Path, *args: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", *args], cwd=folder, env=ENV, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@dataclass
class History:
    """Commits written in one go by git fast-import; `names` maps what a test calls them to object names."""

    folder: Path
    object_format: str = "sha1"
    lines: list[bytes] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    clock: int = START

    def commit(
        self, name: str, parents: list[str], files: dict[str, bytes], *, at: int | None = None
    ) -> None:
        self.clock += 60
        self.marks[name] = len(self.marks) + 1
        head = f"commit refs/made/{self.marks[name]}\nmark :{self.marks[name]}\n"
        head += f"committer made <made@example.com> {at if at is not None else self.clock} +0000\ndata 0\n"
        head += "".join(f"{'merge' if n else 'from'} :{self.marks[p]}\n" for n, p in enumerate(parents))
        self.lines.append(head.encode())
        for path, data in files.items():
            self.lines.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")

    def write(self, **branches: str) -> History:
        self.folder.mkdir(parents=True)
        git(self.folder, "init", "--quiet", "--bare", f"--object-format={self.object_format}", "-b", "main")
        for setting in ("allowFilter", "allowAnySHA1InWant"):
            git(self.folder, "config", f"uploadpack.{setting}", "true")
        stream = b"".join(self.lines)
        marks = self.folder / "marks"
        git(self.folder, "fast-import", "--quiet", f"--export-marks={marks}", stdin=stream)
        by_mark = dict(line.split() for line in marks.read_text().splitlines())
        self.names = {name: by_mark[f":{mark}"] for name, mark in self.marks.items()}
        for branch, name in branches.items():
            git(self.folder, "update-ref", f"refs/heads/{branch}", self.names[name])
        for mark in self.marks.values():  # only branches keep commits: the rest of the history hangs on them
            git(self.folder, "update-ref", "-d", f"refs/made/{mark}")
        return self

    def view(self) -> View:
        return View(
            ENV,
            object_format=self.object_format,
            transport=[("remote.origin.url", f"file://{self.folder}")],
            promisor="origin",
        )


def kinds(view: View) -> Counter[str]:
    done = view.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
    return Counter(done.out.decode().split())


def fetched(view: View, head: str) -> tuple[Remote, str]:
    remote = Remote(view, "origin")
    base = remote.tip("main", shallow=True)
    assert base is not None
    remote.bring(base, head)
    return remote, base


def oldest(view: View, base: str, head: str) -> int | None:
    return view.oldest(base, head)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Base 400 commits long, with large blobs in it; a branch that forked 300 commits ago."""
    made = History(tmp_path_factory.mktemp("old") / "app")
    noise = random.Random(1)
    for n in range(400):
        files = {f"src/f{n % 10}.txt": b"%d\n" % n, "same.txt": b"same\n" * 50}
        if n % 50 == 0:
            files[f"assets/{n}.bin"] = noise.randbytes(100_000)
        made.commit(f"m{n}", [f"m{n - 1}"] if n else [], files)
    made.commit("w1", ["m99"], {"src/work.txt": b"work\n"})
    made.commit("w2", ["w1"], {"same.txt": b"same\n" * 49 + b"other\n"})
    return made.write(main="m399", work="w2")


def test_a_tip_is_one_commit_without_blobs(old: History) -> None:
    with old.view() as view:
        assert Remote(view, "origin").tip("main", shallow=True) == old.names["m399"]
        found = kinds(view)
    assert (found["commit"], found["blob"]) == (1, 0)


def test_a_branch_that_is_not_there_has_no_tip(old: History) -> None:
    with old.view() as view:
        assert Remote(view, "origin").tip("gone", shallow=True) is None


def test_a_branch_far_behind_brings_the_history_between_and_no_more(old: History) -> None:
    with old.view() as view:
        _, base = fetched(view, old.names["w2"])
        found = kinds(view)
        assert found["commit"] == 301 + 2  # m99 to m399, and the branch's own
        assert found["blob"] == 0
        tree, _ = view.merge_tree(base, old.names["w2"])
        assert kinds(view)["blob"] == 0  # both sides changed other paths: nothing has to be read
    assert tree == git(old.folder, "merge-tree", "--write-tree", old.names["m399"], old.names["w2"])


def test_blobs_are_fetched_by_name_even_where_the_commit_that_holds_them_is_here(old: History) -> None:
    with old.view() as view:
        remote, base = fetched(view, old.names["w2"])
        _, oid = view.objects.entry(view.objects.commit(base).tree, b"same.txt") or (0, "")
        remote.missing([oid])
        assert view.objects.blob(oid) == b"same\n" * 50
        assert kinds(view)["blob"] == 1


def test_objects_that_nobody_has_are_an_error(old: History) -> None:
    with old.view() as view:
        remote, _ = fetched(view, old.names["w2"])
        with pytest.raises(RemoteUnreachable):
            remote.objects(["1" * 40])


@pytest.mark.parametrize(
    ("name", "commits"),
    [("m399", 303), ("m200", 303), ("m99", 303), ("m90", 303 + 9)],
)
def test_the_claims_base_commit_is_reached_and_nothing_behind_it(
    old: History, name: str, commits: int
) -> None:
    with old.view() as view:
        remote, base = fetched(view, old.names["w2"])
        assert remote.reach(base, old.names[name]) is True
        assert view.is_ancestor(old.names[name], base)
        assert kinds(view)["commit"] == commits
        assert kinds(view)["blob"] == 0


def test_what_is_not_in_base_is_not_reached(old: History) -> None:
    blob = git(old.folder, "rev-parse", f"{old.names['m399']}:same.txt")
    tree = git(old.folder, "rev-parse", f"{old.names['m399']}^{{tree}}")
    with old.view() as view:
        remote, base = fetched(view, old.names["w2"])
        for oid in (
            old.names["w1"],
            old.names["w2"],
            "1" * 40,
            "2" * 64,
            blob,
            tree,
            "main",
            "--upload-pack=false",
            "",
        ):
            assert remote.reach(base, oid) is False, oid


class Counting(Remote):
    """A remote that counts the fetches that are made of it."""

    fetches = 0

    def fetch(self, *args: str, stdin: bytes = b"") -> Done:
        Counting.fetches += 1
        return super().fetch(*args, stdin=stdin)

    def _on(self, side: View) -> Remote:
        return Counting(side, self.name, hint=self.hint)


def counted(view: View, head: str) -> tuple[Remote, str]:
    remote, base = fetched(view, head)
    counting = Counting(view, "origin")
    counting._roots = remote._roots
    Counting.fetches = 0
    return counting, base


def test_many_base_commits_cost_no_more_fetches_than_a_few(old: History) -> None:
    names = [old.names[f"m{n}"] for n in range(10, 390, 2)]
    with old.view() as view:
        remote, base = counted(view, old.names["w2"])
        assert remote.reach_all(base, names) == dict.fromkeys(names, True)
        assert Counting.fetches <= 3
        assert view.is_ancestor(names[0], base)
        assert kinds(view)["commit"] == 390 + 2  # m10 to m399, and the branch's own
        assert view.first_parent_raw(names[0], base, [b"src/f"])[-1], "trees are here, back to the oldest"


def test_base_commits_that_nobody_has_do_not_spoil_the_answer_for_the_others(old: History) -> None:
    alien = [f"{n:040x}" for n in range(1, 90)]
    rooted = [old.names[f"m{n}"] for n in (350, 5, 98, 40)]
    work = [old.names["w1"], old.names["w2"]]
    with old.view() as view:
        remote, base = counted(view, old.names["w2"])
        found = remote.reach_all(base, [*alien, *rooted, *work, "main", "", "2" * 64])
        assert {commit for commit, is_rooted in found.items() if is_rooted} == set(rooted)
        assert len(found) == len(alien) + 9
        assert Counting.fetches <= 6
        assert all(view.is_ancestor(commit, base) for commit in rooted)
        assert view.first_parent_raw(rooted[1], base, [b"src/f"])[-1], "trees are here, back to the oldest"


def test_base_commits_of_the_newest_claims_are_looked_up_and_no_more(old: History) -> None:
    alien = [f"{n:040x}" for n in range(1, MOST_BASES)]
    asked = [*alien, old.names["m50"], old.names["m99"]]
    whole = View(ENV, objects=old.folder / "objects")
    with old.view() as view, whole:
        remote, base = fetched(view, old.names["w2"])
        local = LocalClaims(Repository(old.folder, ENV), whole)
        for source in (local, RemoteClaims(whole, remote), RemoteClaims(view, remote, deepen=True)):
            found = source.rooted_all(base, asked)
            assert [commit for commit in asked if found[commit]] == [old.names["m50"]]
            assert source.rooted_all(base, asked[-1:]) == {old.names["m99"]: True}


def test_many_base_commits_in_a_whole_clone(old: History) -> None:
    rooted = [old.names[f"m{n}"] for n in range(0, 100, 10)]
    other = [old.names["w1"], old.names["w2"], *(f"{n:040x}" for n in range(9))]
    with View(ENV, objects=old.folder / "objects") as view:
        source = LocalClaims(Repository(old.folder, ENV), view)
        for count in (0, 1, len(other)):
            found = source.rooted_all(old.names["m399"], [*other[:count], *rooted])
            assert found == dict.fromkeys(other[:count], False) | dict.fromkeys(rooted, True)


def test_many_base_commits_where_dates_lie(tmp_path: Path) -> None:
    made = History(tmp_path / "app")
    for n in range(40):
        made.commit(f"m{n}", [f"m{n - 1}"] if n else [], {"f": b"%d" % n}, at=START - 60 * n)
    made.write(main="m39")
    names = [made.names[f"m{n}"] for n in range(0, 40, 3)]
    with View(ENV, objects=made.folder / "objects") as view:
        source = LocalClaims(Repository(made.folder, ENV), view)
        assert source.rooted_all(made.names["m39"], names) == dict.fromkeys(names, True)
        back = source.rooted_all(made.names["m20"], names)
        assert back == {name: 3 * n <= 20 for n, name in enumerate(names)}


def test_many_base_commits_in_a_shallow_clone_that_cannot_tell(old: History, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--bare", "--depth=50", f"file://{old.folder}", str(shallow))
    repository = Repository(shallow, ENV)
    near = [old.names[f"m{n}"] for n in range(370, 380)]
    with view_over(repository, ENV, None) as view:
        source = LocalClaims(repository, view)
        assert source.rooted_all(old.names["m399"], near) == dict.fromkeys(near, True)
        with pytest.raises(HistoryMissing, match="shallow"):
            source.rooted_all(old.names["m399"], [*near, old.names["m5"]])


def test_a_remote_that_breaks_off_is_no_answer(old: History, tmp_path: Path) -> None:
    with old.view() as view:
        _, base = fetched(view, old.names["w2"])
        view._transport = [("remote.origin.url", f"file://{tmp_path}/gone")]
        view.env["GIT_CONFIG_VALUE_0"] = f"file://{tmp_path}/gone"
        remote = Remote(view, "origin")
        with pytest.raises(RemoteUnreachable):
            remote.reach(base, old.names["m90"])
        with pytest.raises(RemoteUnreachable):
            remote.reach_all(base, [old.names["m90"]])
        with pytest.raises(RemoteUnreachable):
            remote.tip("main", shallow=True)
        with pytest.raises(RemoteUnreachable):
            remote.bring(base, old.names["w1"])
        with pytest.raises(RemoteUnreachable):
            remote.claims("T-20260814-abcdef01", [])


def test_a_head_that_nobody_has_is_an_error(old: History) -> None:
    with old.view() as view:
        remote = Remote(view, "origin")
        base = remote.tip("main", shallow=True)
        with pytest.raises(RemoteUnreachable, match="111111"):
            remote.bring(base or "", "1" * 40)


@pytest.mark.parametrize("head", ["m399", "m398", "m5", "m0"])
def test_a_head_that_base_holds_changes_nothing(old: History, head: str) -> None:
    with old.view() as view:
        _, base = fetched(view, old.names[head])
        tree, _ = view.merge_tree(base, old.names[head])
        assert tree == view.objects.commit(base).tree
        assert not view.cut_between(base, old.names[head])


def test_a_head_that_merged_base_along_the_way(tmp_path: Path) -> None:
    made = History(tmp_path / "app")
    for n in range(20):
        made.commit(f"m{n}", [f"m{n - 1}"] if n else [], {"f": b"%d" % n})
    made.commit("w1", ["m4"], {"w": b"1"})
    made.commit("w2", ["w1", "m12"], {"f": b"12", "w": b"2"})
    made.commit("w3", ["w2"], {"w": b"3"})
    made.write(main="m19", work="w3")
    with made.view() as view:
        _, base = fetched(view, made.names["w3"])
        tree, _ = view.merge_tree(base, made.names["w3"])
        assert oldest(view, base, made.names["w3"]) == made.clock - 120
        assert kinds(view)["commit"] == 16 + 3  # m4 to m19, w1 to w3
    assert tree == git(made.folder, "merge-tree", "--write-tree", made.names["m19"], made.names["w3"])


def test_a_branch_older_than_the_fork_that_base_merged_later(tmp_path: Path) -> None:
    made = History(tmp_path / "app")
    for n in range(12):
        made.commit(f"m{n}", [f"m{n - 1}"] if n else [], {"f": b"%d" % n})
    made.commit("side", ["m2"], {"s": b"1"}, at=START + 200)
    made.commit("merge", ["m11", "side"], {"s": b"1"})
    made.commit("old", ["merge", "m3"], {"o": b"1"})  # one parent is behind the fork, the other is not
    made.commit("w", ["m6"], {"w": b"1"})
    made.write(main="old", work="w")
    with made.view() as view:
        _, base = fetched(view, made.names["w"])
        assert view.merge_tree(base, made.names["w"])[0]
        assert oldest(view, base, made.names["w"]) == made.clock
        behind = {made.names[f"m{n}"] for n in (0, 1, 2, 4, 5)}  # m3 came as the other parent of a merge
        assert not any(kind == "commit" for kind, _ in view.objects.kinds(behind).values())
        assert git(view.path, "rev-list", "--count", base) == str(6 + 3 + 1)  # m6 to m11, three more, m3


def test_an_entry_that_stacks_on_another_entry_of_the_queue(tmp_path: Path) -> None:
    made = History(tmp_path / "app")
    for n in range(20):
        made.commit(f"m{n}", [f"m{n - 1}"] if n else [], {"f": b"%d" % n})
    made.commit("a1", ["m4"], {"a": b"1"})
    made.commit("b1", ["m9"], {"b": b"1"})
    made.commit("q1", ["m19", "a1"], {"a": b"1"})
    made.commit("q2", ["q1", "b1"], {"b": b"1"})
    made.write(main="m19", queue="q2")
    with made.view() as view:
        remote = Remote(view, "origin")
        assert remote.commit(made.names["q1"]) == made.names["q1"]
        remote.bring(made.names["q1"], made.names["q2"])
        assert not view.cut_between(made.names["q1"], made.names["q2"])
        tree, _ = view.merge_tree(made.names["q1"], made.names["q2"])
        assert tree == view.objects.commit(made.names["q2"]).tree
        assert oldest(view, made.names["q1"], made.names["q2"]) == made.clock - 120  # b1, not a1
        assert remote.reach(made.names["q1"], made.names["m2"])


@pytest.mark.parametrize("steps", [2, 4, 12])
def test_merges_of_which_one_side_after_the_other_is_missing(tmp_path: Path, steps: int) -> None:
    made = History(tmp_path / "app")
    made.commit("a0", [], {"a": b"0"})
    made.commit("a1", ["a0"], {"a": b"1"})
    for n in range(2, steps + 1):
        made.commit(f"a{n}", [f"a{n - 1}", f"a{n - 2}"], {"a": b"%d" % n})
    made.commit("m", [f"a{steps - 1}", f"a{steps}"], {"a": b"m"})
    made.commit("w", [f"a{steps}"], {"w": b"1"})
    made.write(main="m", work="w")
    with made.view() as view:
        remote, base = fetched(view, made.names["w"])
        assert view.merge_tree(base, made.names["w"])[0]
        assert git(view.path, "rev-list", base, made.names["w"])
        assert remote.reach_all(base, made.names.values()) == dict.fromkeys(made.names.values(), True) | {
            made.names["w"]: False
        }


def test_histories_with_nothing_in_common(tmp_path: Path) -> None:
    made = History(tmp_path / "app")
    made.commit("m0", [], {"f": b"0"})
    made.commit("m1", ["m0"], {"f": b"1"})
    made.commit("x0", [], {"g": b"0"})
    made.write(main="m1", other="x0")
    with made.view() as view:
        _, base = fetched(view, made.names["x0"])
        assert not view.cut_between(base, made.names["x0"])
        assert view.merge_tree(base, made.names["x0"]) == (None, [])


def test_sha256(tmp_path: Path) -> None:
    made = History(tmp_path / "app", object_format="sha256")
    for n in range(9):
        made.commit(f"m{n}", [f"m{n - 1}"] if n else [], {"f": b"%d" % n})
    made.commit("w", ["m3"], {"w": b"w"})
    made.write(main="m8", work="w")
    with made.view() as view:
        remote, base = fetched(view, made.names["w"])
        assert len(base) == 64
        assert view.merge_tree(base, made.names["w"])[0]
        assert remote.reach(base, made.names["m2"])
        assert not remote.reach(base, "1" * 40)


def test_one_tasks_claims_and_no_others(old: History) -> None:
    blobs = {}
    for name in ("standing", "logged", "lock", "other", "longer"):
        blobs[name] = git(old.folder, "hash-object", "-w", "--stdin", stdin=name.encode())
    task, key = "T-20260814-abcdef01", "schema"
    made = {
        refs.claim_ref(task): blobs["standing"],
        refs.log_ref(task, "20260814T000000000Z"): blobs["logged"],
        refs.lock_ref(key): blobs["lock"],
        refs.claim_ref("T-20260814-abcdef02"): blobs["other"],
        refs.log_ref("T-20260814-abcdef02", "20260814T000000000Z"): blobs["other"],
        refs.lock_ref("another"): blobs["other"],
    }
    for ref, oid in made.items():
        git(old.folder, "update-ref", ref, oid)
    with old.view() as view:
        Remote(view, "origin").claims(task, [key])
        found = {ref: oid for ref, oid, _ in view.refs(["refs/swarm"])}
        count = kinds(view)
    assert found == {ref: oid for ref, oid in made.items() if oid != blobs["other"]}
    assert count == Counter(blob=3)


def test_no_claims_at_all(tmp_path: Path) -> None:
    made = History(tmp_path / "app")
    made.commit("m0", [], {"f": b"0"})
    made.write(main="m0")
    with made.view() as view:
        Remote(view, "origin").claims("T-20260814-abcdef01", ["schema"])
        assert view.refs(["refs/swarm"]) == []


def test_the_default_branch(old: History) -> None:
    with old.view() as view:
        assert Remote(view, "origin").default_branch() == "main"
        assert Remote(view, "origin").peek("work") == old.names["w2"]
        assert Remote(view, "origin").peek("wor") is None


HIDDEN = "hunter2Zq"
LEAKY = [
    "git://u:hunter2Zq@127.0.0.1:1/x",
    "git://u:hunter2Zq/x@127.0.0.1/y",
    "git://u:hunter2Zq@h/x@127.0.0.1/y",
    "http://u:hunter2Zq/x@127.0.0.1:1/y",
    "http://u:hunter2Zq?x@127.0.0.1:1/y",
    "http://127.0.0.1:1/x?token=hunter2Zq",
    "http://127.0.0.1:1/x?hunter2Zq",
    "http://127.0.0.1:1/x?a=1&token=hunter2Zq#b",
    "http://127.0.0.1:1/x#hunter2Zq",
    "http://u:a' hunter2Zq@127.0.0.1:1/x",
    "http://hunter2Zq@127.0.0.1:1/x",
    "foo://u:hunter2Zq@h/x",
    "hunter2Zq@127.0.0.1:x",
    "/nowhere/u:hunter2Zq@h/x",
]


def message(settings: Sequence[tuple[str, str]]) -> str:
    with View(ENV | {"GIT_SSH_COMMAND": "echo >&2"}, transport=settings, promisor="origin") as view:
        with pytest.raises(RemoteUnreachable) as failed:
            Remote(view, "origin").tip("main")
        return failed.value.message


@pytest.mark.parametrize("url", LEAKY)
def test_no_message_holds_what_the_remotes_url_keeps_secret(url: str) -> None:
    told = message([("remote.origin.url", url)])
    assert HIDDEN not in told
    assert "'origin'" in told


@pytest.mark.parametrize("url", ["a:x", "a:x@127.0.0.1:1/y", "gh:hunter2Zq@127.0.0.1:1/x"])
@pytest.mark.parametrize("by", ["git://u:hunter2Zq@127.0.0.1:1/", "http://u:hunter2Zq/@", "git://u:"])
def test_nor_what_another_url_in_its_place_does(url: str, by: str) -> None:
    told = message([("remote.origin.url", url), (f"url.{by}.insteadof", f"{url[:2].rstrip(':')}:")])
    assert HIDDEN not in told


def test_nor_what_a_header_or_a_proxy_does() -> None:
    settings = [
        ("remote.origin.url", "https://host/x"),
        ("http.https://host/.extraheader", "Authorization: basic aHVudGVy"),
        ("http.proxy", "http://me:hunter2Zq@proxy:1"),
        ("remote.origin.pushurl", "https://pushW0rd@host/x"),
        ("http.https://k:lockA1@host/.sslverify", "true"),
    ]
    text = "the remote says: aHVudGVy, HUNTER2ZQ, locka1, pushw0rd"
    assert redacted(text, secrets(settings)) == "the remote says: ***, ***, ***, ***"


def test_what_is_encoded_in_a_url_is_not_told_decoded_either() -> None:
    known = secrets([("remote.origin.url", "https://u:hunter%32Zq@host/x?k=a%2Bb%2Bc")])
    assert redacted("no hunter2Zq, hunter%32Zq, a+b+c at host", known) == "no ***, ***, *** at host"


def test_any_url_in_a_message_loses_user_and_query() -> None:
    told = "see 'https://u:p/q@host/x?y=1#z' and git://v@host, w:s@host: or \"https://host/a?b\""
    assert (
        redacted(told, ())
        == "see 'https://***@host/x?***' and git://***@host, ***@host: or \"https://host/a?***\""
    )


def test_a_message_says_what_it_said_before_where_nothing_is_secret() -> None:
    told = "unable to access 'https://host/owner/app/': Could not resolve host: host"
    assert redacted(told, secrets([("remote.origin.url", "https://host/owner/app")])) == told
    short = secrets([("remote.origin.url", "https://u:no@host/x")])
    assert redacted("unable to say no: not u", short) == "unable to say ***: not ***"


def test_a_secret_is_not_cut_in_two_before_it_is_taken_out() -> None:
    for fill in range(240, 262, 3):
        told = message([("remote.origin.url", f"git://u:{'z' * fill}hunter2Zq@127.0.0.1/x")])
        assert "hunt" not in told


@pytest.mark.parametrize(
    ("written", "handed"),
    [("\tsslVerify\n", "true"), ("\tsslVerify =\n", ""), ("\tsslVerify = false\n", "false")],
)
def test_a_setting_without_a_value_means_true_in_a_view_as_well(
    tmp_path: Path, written: str, handed: str
) -> None:
    git(tmp_path, "init", "--quiet")
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = https://host/x\n[http]\n{written}')
    repository = Repository(tmp_path, ENV)
    assert ("http.sslverify", handed) in repository.transport("origin")
    with view_over(repository, ENV, "origin") as view:
        inside = view.git("config", "--type=bool", "http.sslVerify").out
    assert inside.decode().strip() == git(tmp_path, "config", "--type=bool", "http.sslVerify")


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[list[int], int]]:
    """Commits in order: the numbers of their parents, and their date in minutes, which may run backwards."""
    made: list[tuple[list[int], int]] = [([], 0)]
    for n in range(1, draw(st.integers(2, 12))):
        parents = draw(
            st.lists(st.integers(max(0, n - 5), n - 1), min_size=0 if n == 1 else 1, max_size=2, unique=True)
        )
        made.append((parents, draw(st.sampled_from([n, n, n, n - 4, 0]))))
    return made


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(graphs(), st.data())
def test_any_history_merges_as_it_does_in_a_whole_clone(
    tmp_path_factory: pytest.TempPathFactory, graph: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    made = History(tmp_path_factory.mktemp("graph") / "app")
    for n, (parents, minute) in enumerate(graph):
        made.commit(str(n), [str(p) for p in parents], {f"f{n}": b"%d" % n}, at=START + 60 * minute)
    last = len(graph) - 1
    base = data.draw(st.integers(0, last))
    made.write(main=str(base), head=str(last))
    names = made.names
    with made.view() as view:
        remote, tip = fetched(view, names[str(last)])
        assert not view.cut_between(tip, names[str(last)])
        whole = git(made.folder, "rev-list", "--timestamp", f"{tip}..{names[str(last)]}").split()
        assert oldest(view, tip, names[str(last)]) == min(map(int, whole[0::2]), default=None)
        expected = subprocess.run(
            ["git", "merge-tree", "--write-tree", tip, names[str(last)]],
            cwd=made.folder,
            env=ENV,
            capture_output=True,
            check=False,
        )
        tree, _ = view.merge_tree(tip, names[str(last)])
        assert tree == (expected.stdout.decode().split("\n")[0] if expected.returncode == 0 else None)
        behind = set(git(made.folder, "rev-list", tip).split())
        for oid in data.draw(st.lists(st.sampled_from(sorted(names.values())), max_size=3)):
            assert remote.reach(tip, oid) is (oid in behind)
    with made.view() as view:
        remote, tip = fetched(view, names[str(last)])
        assert remote.reach_all(tip, names.values()) == {oid: oid in behind for oid in names.values()}
        assert remote.reach_all(tip, names.values()) == {oid: oid in behind for oid in names.values()}
        assert all(view.is_ancestor(oid, tip) for oid in behind & set(names.values()))
