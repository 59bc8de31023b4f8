"""Names of refs, held against git's own idea of a ref name."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatekeeper.claims import refs

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = ["T-20260814-abcdef01", "TASK-001", "1", "001", "site/004", "a_b.c-d", "x.locked"]
NASTY = [
    ("a b", "a%20b"),
    ("100%", "100%25"),
    ("..", "%2E%2E"),
    ("a..b", "a%2E%2Eb"),
    (".a", "%2Ea"),
    ("a.", "a%2E"),
    ("a.lock", "a%2Elock"),
    ("a.LOCK/b", "a%2ELOCK/b"),
    ("a.lock.lock", "a.lock%2Elock"),
    ("-x", "%2Dx"),
    ("x/-y", "x/%2Dy"),
    ("@", "%40"),
    ("a@{1}", "a%40%7B1%7D"),
    ("a~b^c:d?e*f[g\\h", "a%7Eb%5Ec%3Ad%3Fe%2Af%5Bg%5Ch"),
    ("a\nb\x7f", "a%0Ab%7F"),
    ("я", "%D1%8F"),
    ("", "%"),
    ("/", "%/%"),
    ("a//b", "a/%/b"),
    ("\udc80", "%ED%B2%80"),
    (".\n", "%2E%0A"),
]
IDS = st.text(max_size=12) | st.text("./-%@{lock}~ab\n", max_size=12)


def acceptable(ref: str) -> bool:
    return subprocess.run(["git", "check-ref-format", ref], check=False).returncode == 0


@pytest.mark.parametrize("task", PLAIN)
def test_a_safe_id_stays_as_it_is(task: str):
    assert refs.encode_id(task) == task
    assert refs.claim_ref(task) == f"refs/swarm/task-claims/{task}"
    assert refs.log_prefix(task) == f"refs/swarm/claim-log/{task}/"


@pytest.mark.parametrize(("task", "spelt"), NASTY)
def test_an_unsafe_id_is_percent_encoded(task: str, spelt: str):
    assert refs.encode_id(task) == spelt
    assert refs.decode_id(spelt) == task
    assert acceptable(refs.claim_ref(task))


def test_git_creates_every_one_of_them(tmp_path: Path):
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    blob = subprocess.run([*git, "hash-object", "-w", "--stdin"], input=b"x", capture_output=True, check=True)
    oid = blob.stdout.decode().strip()
    for task in (*PLAIN, *(task for task, _ in NASTY)):
        made = (refs.claim_ref(task), refs.log_ref(task, "S"))
        lines = [f"{verb} {ref} {oid}\n" for verb in ("create", "delete") for ref in made]
        subprocess.run([*git, "update-ref", "--stdin"], input="".join(lines[:2]).encode(), check=True)
        listed = subprocess.run(
            [*git, "for-each-ref", "--format=%(refname)", refs.CLAIMS], capture_output=True, check=True
        )
        assert listed.stdout.decode() == made[0] + "\n"
        # One by one, since an id that is a folder of another's can't have a ref beside it.
        subprocess.run([*git, "update-ref", "--stdin"], input="".join(lines[2:]).encode(), check=True)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(IDS)
def test_every_id_has_a_name_that_git_accepts(task: str):
    spelt = refs.encode_id(task)
    assert spelt.isascii()
    assert spelt.count("/") == task.count("/")
    assert acceptable(f"refs/swarm/claim-log/{spelt}/20260820T120000000Z")
    assert acceptable(refs.CLAIMS + spelt)
    assert refs.decode_id(spelt) == task


@given(st.text(max_size=12) | st.text("%0123456789ABCDEFabcdef./-", max_size=12))
def test_an_id_has_one_spelling_only(spelt: str):
    task = refs.decode_id(spelt)
    assert task is None or refs.encode_id(task) == spelt


@pytest.mark.parametrize(
    "spelt", ["", "%41", "a%2eb", "%zz", "%FF", "a b", "я", "a%", "a//b", "a%2Fb", "\ud800"]
)
def test_a_spelling_of_another_kind_is_no_id(spelt: str):
    assert refs.decode_id(spelt) is None


def test_a_lock_ref_is_the_first_sixteen_digits_of_sha256():
    assert refs.lock_ref("spec-lock") == "refs/swarm/task-locks/474cc8e6e4f0452f"
    assert refs.lock_ref("\udc80").startswith(refs.LOCKS)


def test_refs_and_paths_of_the_log_are_told_apart():
    stamp = "20260820T120000000Z"
    for task in ("site/004", "a.lock", "T-1"):
        assert refs.log_entry(refs.log_ref(task, stamp)) == (task, stamp)
        assert refs.archive_entry(refs.archive_path(task, stamp)) == (task, stamp)
        assert refs.claim_task(refs.claim_ref(task)) == task
        assert refs.log_entry(refs.malformed_ref(task, stamp)) is None
        assert refs.claim_task(refs.log_ref(task, stamp)) is None
    assert refs.log_entry(refs.LOG + stamp) is None
    assert refs.log_entry(refs.LOG + "T-1/") is None
    assert refs.archive_entry("T-1/20260820T120000000Z.txt") is None
    assert refs.archive_path("T-1", stamp) == "T-1/20260820T120000000Z.json"


@pytest.mark.parametrize(
    "name", ["task-claims/T-1%2d", "claim-log/T-1", "claim-malformed/T-1", "task-claims/" + "x" * 250]
)
def test_what_has_no_task_s_name_goes_where_no_task_s_things_are(name: str):
    aside = refs.aside_ref(refs.SWARM + name)
    folder = aside.removeprefix(refs.MALFORMED).removesuffix("/")
    assert refs.decode_id(folder) is None
    assert len(folder) < 250
    assert refs.malformed_ref("T-1", "S").removesuffix("S") != aside


def test_the_log_of_one_task_is_not_that_of_another_below_it():
    ref = refs.log_ref("site/004", "S")
    assert ref.startswith(refs.log_prefix("site"))
    assert refs.log_entry(ref) == ("site/004", "S")
