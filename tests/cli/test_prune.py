"""`prune` in real repositories: what goes, what stays and why, and that nothing but the removal is staged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import Ran, Sample, play

if TYPE_CHECKING:
    from pathlib import Path

LATER = "2026-09-01T12:00:00Z"
DONE, GONE = "T-20260301-0000000d", "T-20260301-0000000e"
PATHS = {task: f".agents/tasks/{state}/{task}.md" for task, state in ((DONE, "done"), (GONE, "failed"))}


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return play({}, tmp_path)


def prune(sample: Sample, *args: str, now: str = LATER) -> Ran:
    done = sample.call("--now", now, "prune", *args)
    assert done.status == 0, done.err
    return done


def told(sample: Sample, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(prune(sample, *args, "--format", "json").out)
    return found


def staged(sample: Sample) -> list[str]:
    return sample.git("diff", "--cached", "--name-status", "HEAD").splitlines()


def test_what_ended_long_ago_goes_and_only_that_is_staged(sample: Sample) -> None:
    (sample.path / "README.md").write_text("changed, and nobody's business\n")
    found = told(sample)
    assert PATHS[GONE] in found["removed"]
    assert not (sample.path / PATHS[GONE]).exists()
    assert staged(sample) == [f"D\t{path}" for path in found["removed"]]
    assert "README.md" in sample.git("diff", "--name-only")


def test_a_dry_run_changes_nothing(sample: Sample) -> None:
    said = prune(sample, "--dry-run").out
    assert f"would remove {PATHS[GONE]}" in said
    assert staged(sample) == []
    assert (sample.path / PATHS[GONE]).exists()


def test_what_ended_of_late_stays(sample: Sample) -> None:
    assert prune(sample, now="2026-03-20T12:00:00Z").out.startswith("nothing to prune")
    assert staged(sample) == []


def test_the_days_that_are_said_count_before_the_policys(sample: Sample) -> None:
    assert told(sample, "--older-than", "100000")["removed"] == []
    assert told(sample, "--older-than", "0", "--dry-run")["removed"]


@pytest.mark.parametrize(
    ("field", "task"), [("depends_on: [{}]", DONE), ("regenerated_from: {}", GONE)], ids=["waits", "anew"]
)
def test_what_an_open_task_needs_stays(sample: Sample, field: str, task: str) -> None:
    open_task = next((sample.path / ".agents/tasks/queued").glob("*.md"))
    kept = [
        line
        for line in open_task.read_text().split("\n")
        if not line.startswith(("depends_on", "regenerated"))
    ]
    open_task.write_text("\n".join([*kept[:2], field.format(task), *kept[2:]]))
    sample.git("commit", "-qam", "an open task still named by")
    found = told(sample)
    assert PATHS[task] not in found["removed"]
    assert any(kept["path"] == PATHS[task] and "still named by" in kept["why"] for kept in found["kept"])
    assert (sample.path / PATHS[task]).exists()


def test_what_is_changed_and_not_committed_stays(sample: Sample) -> None:
    with (sample.path / PATHS[GONE]).open("a") as file:
        file.write("a note\n")
    found = told(sample)
    assert PATHS[GONE] not in found["removed"]
    assert {"path": PATHS[GONE], "why": "it has changes that are not committed"} in found["kept"]


def test_what_an_unfinished_milestone_lists_stays(sample: Sample) -> None:
    manifest = sample.path / ".agents/manifest.yml"
    integrates = sample.path / ".agents/tasks/queued/T-20260301-0000000f.md"
    integrates.write_text(integrates.read_text().replace(DONE, "T-20260301-0000000b"))
    sample.git("commit", "-qam", "nothing waits for it any more")
    assert any(
        kept["why"] == "still named by milestone 'spring'" for kept in told(sample, "--dry-run")["kept"]
    )
    manifest.write_text(manifest.read_text().replace(f", {DONE}", ""))
    sample.git("commit", "-qam", "nor does the milestone list it")
    assert PATHS[DONE] in told(sample)["removed"]


def test_a_shallow_clone_can_not_tell(sample: Sample, tmp_path: Path) -> None:
    sample.git("clone", "-q", "--depth=1", f"file://{sample.path}", str(tmp_path / "shallow"))
    done = sample.call("--repo", str(tmp_path / "shallow"), "--now", LATER, "prune")
    assert done.status == 2
    assert "shallow" in done.err
