"""`check` where a forge runs it: the event says who asks, and what nobody says is an error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import Ran, Sample, play
from running import sound
from test_regressions import HONEST, TASK, errors, pull_request

if TYPE_CHECKING:
    from pathlib import Path

HERE, FORK = "owner/app", "mallory/app"
PLANNED = {"edits": [{"append": {".agents/plan.md": "More.\n"}}]}
BLOCKED = {
    "base": [
        {"replace": {f".agents/tasks/queued/{TASK}.md": ["classification:", "owner: team\nclassification:"]}}
    ],
    "edits": [
        {"finish": {"task": TASK, "state": "blocked"}},
        {
            "replace": {
                f".agents/tasks/blocked/{TASK}.md": ["status: blocked", "status: blocked\nreason: waiting"]
            }
        },
    ],
}
OPERATOR = ("--author", "octocat", "--operator", "octocat")


def in_ci(sample: Sample, *args: str, event: dict[str, Any] | None = None, **env: str) -> Ran:
    """Run `check` as in a workflow, with an event if one is given."""
    environ = {"GITHUB_ACTIONS": "true", **env}
    if event is not None:
        path = sample.root / "event.json"
        path.write_text(json.dumps(event))
        environ |= {"GITHUB_EVENT_PATH": str(path)}
    done = sample.call(*sample.check_args(*args), env=environ)
    sound(done)
    return done


def from_repo(sample: Sample, name: str | None) -> dict[str, Any]:
    """The event of a pull request whose head lives in that repository."""
    event = pull_request(sample, HERE)
    event["pull_request"]["head"]["repo"] = name and {"full_name": name}
    return event


@pytest.mark.parametrize(("repo", "found"), [(HERE, set()), (FORK, {"GK119"}), (None, {"GK119"})])
def test_a_forks_branch_of_a_claimed_name(repo: str | None, found: set[str], tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    assert errors(in_ci(sample, event=from_repo(sample, repo))) == found


def test_options_win_over_the_event(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    fork = from_repo(sample, FORK)
    assert errors(in_ci(sample, "--head-repo", HERE, event=fork)) == set()
    assert errors(in_ci(sample, "--base-repo", FORK, event=fork)) == set()
    assert errors(in_ci(sample, "--head-repo", FORK, event=from_repo(sample, HERE))) == {"GK119"}


def test_where_head_lives_when_no_pull_request_is_told_of(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    pushed: dict[str, Any] = {"ref": "refs/heads/agent/work"}
    for done in (in_ci(sample), in_ci(sample, event=pushed, GITHUB_REPOSITORY=HERE)):
        assert errors(done) == {"GK003"}, done.out
    known = {"GITHUB_REPOSITORY": HERE}
    assert errors(in_ci(sample, "--head-repo", HERE, **known)) == set()
    assert errors(in_ci(sample, "--head-repo", FORK, **known)) == {"GK119"}
    assert errors(in_ci(sample, "--head-repo", "", **known)) == {"GK119"}


def test_on_a_laptop_a_repository_that_nothing_is_compared_with(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    assert errors(sample.check()) == set()
    assert errors(sample.check("--base-repo", HERE)) == set()
    assert errors(sample.check("--head-repo", FORK)) == {"GK003"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pull_request": {"number": 1}}'])
def test_an_event_that_is_none(text: str, tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    (tmp_path / "event").write_text(text)
    assert errors(in_ci(sample, GITHUB_EVENT_PATH=str(tmp_path / "event"))) == {"GK005"}


def test_who_plans_is_the_events_to_say(tmp_path: Path) -> None:
    sample = play(PLANNED, tmp_path)
    event = pull_request(sample, HERE)
    pushed = event | {"action": "synchronize", "after": event["pull_request"]["head"]["sha"]}
    for sender, found in (("ann", set()), ("mallory", {"GK161"})):
        event = pushed | {"sender": {"login": sender}}
        assert errors(in_ci(sample, "--operator", "ann", event=event)) == found
    assert errors(in_ci(sample, "--operator", "octocat", event=pushed)) == {"GK161"}


def test_a_pusher_that_nobody_knows_is_no_operator(tmp_path: Path) -> None:
    sample = play(PLANNED, tmp_path)
    assert errors(in_ci(sample, *OPERATOR)) == {"GK003"}
    assert errors(in_ci(sample, *OPERATOR, "--pusher", "octocat")) == set()
    assert errors(in_ci(sample, *OPERATOR, "--pusher", "mallory")) == {"GK161"}
    assert errors(sample.check(*OPERATOR)) == set()


def test_an_operator_hands_back_without_a_claim_whatever_is_warned_of(tmp_path: Path) -> None:
    sample = play(BLOCKED, tmp_path)
    known = ("--base-repo", HERE, "--head-repo", HERE)
    for repos in ((), known):
        done = in_ci(sample, *OPERATOR, "--pusher", "octocat", *repos)
        assert errors(done) == set()
        assert done.severities == {"GK205": {"warning"}}
    assert errors(in_ci(sample, "--author", "ann", *OPERATOR[2:], *known)) == {"GK111"}
    assert errors(in_ci(sample, "--author", "ann", *OPERATOR[2:])) == {"GK003"}


# -- whatever goes wrong, who asked for a report is given one ---------------------------------------------


@pytest.mark.parametrize("command", ["check", "lint"])
def test_no_temporary_folder(command: str, tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    done = sample.call(command, "--format", "json", env={"TMPDIR": str(tmp_path / "gone")})
    assert errors(done) == {"GK005"}
    assert done.status == 2
    assert done.report["command"] == command
    assert "gone" in done.err


@pytest.mark.parametrize("command", ["check", "lint"])
def test_a_fault_of_our_own(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = play(HONEST, tmp_path)

    def broken(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("gatekeeper.edges.git.repository.Repository.__init__", broken)
    with pytest.raises(RecursionError):
        sample.call(command)
    monkeypatch.setattr("gatekeeper.errors.TRACEBACK", "NO_SUCH_VARIABLE")
    done = sample.call(command, "--format", "json")
    assert done.status == 2
    assert "a fault of gatekeeper's own: RecursionError: too deep" in done.report["findings"][0]["message"]
