"""The action run as a process, over HTTP, with GitHub's own events."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from action.harness import (
    BOARD,
    BRANCH,
    COMMAND,
    DONE,
    FINISHED,
    QUEUED,
    TASK,
    TASK_FILE,
    Action,
    commands,
    git,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from action.server import ApiServer

PULLS = ["opened", "synchronize", "reopened", "ready_for_review"]
PLAN = {".agents/plan.md": "---\nstatus: approved\nrevision: 1\n---\n# Plan\n"}


def main_of(action: Action) -> str:
    return git(action.sample.folder, "rev-parse", "main")


# -- verdicts ----------------------------------------------------------------


@pytest.mark.parametrize("what", PULLS)
def test_an_honest_pull_request_passes(honest: Action, what: str) -> None:
    result = honest.run(honest.event(f"pull_request.{what}"))
    assert (result.status, result.report["verdict"], result.codes) == (0, "pass", []), result.everything
    assert result.outputs | {"report": ""} == {
        "verdict": "pass",
        "lane": "implementation",
        "task-id": TASK,
        "agent": "a1",
        "report": "",
    }
    assert json.loads(Path(result.outputs["report"]).read_text()) == result.report
    assert result.report["base"] == {"ref": "main", "commit": main_of(honest)}
    assert result.report["head"]["ref"] == BRANCH
    assert "pass" in result.summary
    assert commands(result.stdout + result.stderr) == []
    assert [path.name for path in (result.folder / "ws").iterdir()] == ["gatekeeper-report.json"]


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target"])
def test_an_edited_pull_request_is_judged_like_any_other(honest: Action, name: str) -> None:
    event = honest.event("pull_request.synchronize") | {
        "action": "edited",
        "changes": {"base": {"ref": {"from": "x"}}},
    }
    assert honest.run(event, name).status == 0


def test_a_path_outside_the_authority_fails(honest: Action) -> None:
    head = git(honest.sample.folder, "rev-parse", BRANCH)
    honest.sample.commit(BRANCH, {"src/auth/login.py": "x\n"}, head)
    result = honest.run(honest.event("pull_request.synchronize"))
    assert (result.status, result.codes) == (1, ["GK141"])
    assert result.outputs["verdict"] == "fail"
    assert "::error file=src/auth/login.py" in result.stdout
    assert "GK141" in result.summary
    assert "src/auth/login.py" in result.summary


def test_work_without_a_claim_fails(make: Callable[..., Action]) -> None:
    action = make()
    action.sample.commit(BRANCH, FINISHED, main_of(action))
    result = action.run(action.event("pull_request.opened"))
    assert (result.status, result.codes, result.outputs["agent"]) == (1, ["GK111"], "")


@pytest.mark.parametrize("repo", [{"full_name": "mallory/app"}, None])
def test_a_fork_fails_whatever_its_branch_is_called(honest: Action, repo: object) -> None:
    head = git(honest.sample.folder, "rev-parse", BRANCH)
    git(honest.sample.folder, "update-ref", "refs/pull/2/head", head)
    git(honest.sample.folder, "update-ref", "-d", f"refs/heads/{BRANCH}")
    event = honest.event("pull_request.opened", head=head)
    event["pull_request"]["head"]["repo"] = repo
    result = honest.run(event)
    assert (result.status, result.codes) == (1, ["GK119"])


def test_the_base_of_today_counts_and_not_the_events(honest: Action) -> None:
    event = honest.event("pull_request.synchronize")
    tip = honest.sample.commit("main", {"README.md": "# Moved on\n"}, main_of(honest))
    result = honest.run(event)
    assert (result.status, result.report["base"]["commit"]) == (0, tip)
    assert tip[:12] in result.stderr


def test_a_claim_older_than_the_fork_is_followed_back(make: Callable[..., Action]) -> None:
    action = make()
    first = main_of(action)
    tip = first
    for n in range(5):
        tip = action.sample.commit("main", {"README.md": f"# {n}\n"}, tip)
    action.sample.commit(BRANCH, FINISHED, tip)
    action.sample.claim(BRANCH, first)
    assert action.run(action.event("pull_request.opened")).codes == []
    action.sample.claim(BRANCH, git(action.sample.folder, "rev-parse", BRANCH))
    assert action.run(action.event("pull_request.opened")).codes == ["GK117"]


def test_a_task_that_was_put_back_after_the_claim(make: Callable[..., Action]) -> None:
    """The folder stands as it stood before: the remote believes that such a tree is here already."""
    action = make()
    first = main_of(action)
    moved = {QUEUED: None, DONE: TASK_FILE.replace("STATE", "done")}
    back: dict[str, str | None] = {DONE: None, QUEUED: BOARD[QUEUED]}
    tip = action.sample.commit("main", moved, first)
    tip = action.sample.commit("main", back, tip)
    action.sample.commit(BRANCH, FINISHED, tip)
    action.sample.claim(BRANCH, first)
    assert action.run(action.event("pull_request.opened")).codes == ["GK111"]


def test_a_repository_of_sha256_objects(make: Callable[..., Action]) -> None:
    action = make(object_format="sha256")
    main = main_of(action)
    action.sample.commit(BRANCH, FINISHED, main)
    action.sample.claim(BRANCH, main)
    result = action.run(action.event("pull_request.opened"))
    assert (result.status, len(result.report["merged_tree"])) == (0, 64)


def test_a_policy_that_does_not_enforce_blocks_nothing(make: Callable[..., Action]) -> None:
    action = make()
    main = action.sample.commit(
        "main", {".github/gatekeeper.yml": "version: 1\nenforce: false\n"}, main_of(action)
    )
    action.sample.commit(BRANCH, FINISHED, main)
    result = action.run(action.event("pull_request.opened"))
    assert (result.status, result.outputs["verdict"], result.codes) == (0, "fail", ["GK111"])
    assert "enforce: false" in result.stderr


# -- what can't be found out ---------------------------------------------------


def undecided(result: Any, code: str) -> None:
    """An error verdict, told everywhere, with one finding."""
    assert result.status == 2, result.everything
    assert [f["code"] for f in result.report["findings"]] == [code], result.everything
    assert result.outputs["verdict"] == "error"
    said = [command for command in commands(result.stdout + result.stderr) if command != "add-mask"]
    assert len(said) == 1
    assert said[0].startswith(f"error title={code}")
    assert "error" in result.summary
    assert code in result.summary


def test_a_base_branch_that_is_gone(honest: Action) -> None:
    result = honest.run(honest.event("pull_request.opened", base="renamed"))
    undecided(result, "GK002")
    assert "'renamed'" in result.stdout


def test_a_head_that_is_gone(honest: Action) -> None:
    undecided(honest.run(honest.event("pull_request.opened", head="2" * 40)), "GK003")


def test_a_remote_that_is_gone(honest: Action) -> None:
    undecided(honest.run(honest.event("pull_request.opened"), GITHUB_REPOSITORY="owner/gone"), "GK003")


def test_the_token_goes_along_and_nowhere_else(honest: Action) -> None:
    honest.server.token = "ghs_secret"
    event = honest.event("pull_request.opened")
    undecided(honest.run(event), "GK003")
    undecided(honest.run(event, token="ghs_wrong"), "GK003")
    result = honest.run(event, token="ghs_secret")
    assert result.status == 0, result.everything
    basic = base64.b64encode(b"x-access-token:ghs_secret").decode()
    assert "ghs_secret" not in result.everything
    assert result.everything.replace(f"::add-mask::{basic}", "").count(basic) == 0
    assert result.stdout.startswith(f"::add-mask::{basic}\n")


def test_the_token_is_not_sent_to_another_host(honest: Action) -> None:
    honest.server.seen.clear()
    other = f"http://localhost:{honest.server.server_port}/{honest.name}"
    result = honest.run(honest.event("pull_request.opened"), token="ghs_secret", remote=other)
    assert result.status == 0
    assert honest.server.seen
    assert all("Authorization" not in headers for _, _, headers in honest.server.seen)


EVENTS_OF_NO_USE = ["push", "pull_request_review", "issue_comment", "schedule", "", "::error::x\n"]


@pytest.mark.parametrize("name", EVENTS_OF_NO_USE)
def test_an_event_that_asks_nothing(honest: Action, name: str) -> None:
    honest.inside = True
    undecided(honest.run(honest.events["pull_request_review.submitted"], name), "GK005")


@pytest.mark.parametrize("command", ["lint", "audit", "check --base x", "::error::\n"])
def test_a_command_that_is_none(honest: Action, command: str) -> None:
    honest.inside = True
    undecided(honest.run(honest.event("pull_request.opened"), command=command), "GK005")


@pytest.mark.parametrize(
    "event",
    [b"", b"{", b"[]", b"\xff\xfe\x00", b"null", b"[" * 100_000, b'{"pull_request": ' + b"1" * 5000 + b"}"],
)
def test_an_event_file_that_is_none(honest: Action, event: bytes) -> None:
    honest.inside = True
    undecided(honest.run(event), "GK005")


@pytest.mark.parametrize(
    "missing",
    ["GITHUB_EVENT_PATH", "GITHUB_EVENT_NAME", "GITHUB_REPOSITORY", "GITHUB_SERVER_URL"],
)
def test_a_runner_that_leaves_something_out(honest: Action, missing: str) -> None:
    honest.inside = True
    env: dict[str, Any] = {missing: None}
    undecided(honest.run(honest.event("pull_request.opened"), **env), "GK005")


# -- people ----------------------------------------------------------------------


@pytest.fixture
def plan(make: Callable[..., Action], api: ApiServer) -> Action:
    """A branch that needs an operator, pushed and asked for by Codertocat."""
    action = make()
    action.api = api.url
    action.sample.commit("plan", PLAN, main_of(action))
    return action


def test_no_answer_of_the_forge_is_asked_for_where_none_decides(honest: Action, api: ApiServer) -> None:
    honest.api = api.url
    assert honest.run(honest.event("pull_request.opened"), token="t").status == 0
    assert api.seen == []


def administers(api: ApiServer, action: Action, **logins: str) -> None:
    for login, permission in logins.items():
        api.answers[f"/repos/{action.name}/collaborators/{login}/permission"] = (
            200,
            {"permission": permission},
        )


def pushed(api: ApiServer, action: Action, login: str, branch: str = "plan") -> None:
    entry = {
        "after": git(action.sample.folder, "rev-parse", branch),
        "activity_type": "push",
        "actor": {"login": login},
    }
    api.answers[f"/repos/{action.name}/activity"] = (200, [entry])


def test_an_operator_who_pushed_needs_one_answer(plan: Action, api: ApiServer) -> None:
    administers(api, plan, Codertocat="admin")
    result = plan.run(plan.event("pull_request.synchronize", branch="plan"), token="t")
    assert (result.status, result.outputs["lane"]) == (0, "planning"), result.everything
    assert len(set(api.seen)) == 1


@pytest.mark.parametrize("what", ["opened", "reopened", "ready_for_review"])
def test_who_opened_it_need_not_have_pushed_it(plan: Action, api: ApiServer, what: str) -> None:
    administers(api, plan, Codertocat="admin", mallory="write")
    event = plan.event(f"pull_request.{what}", branch="plan")
    undecided(plan.run(event, token="t"), "GK003")
    pushed(api, plan, "mallory")
    result = plan.run(event, token="t")
    assert (result.status, result.codes) == (1, ["GK161"]), result.everything
    pushed(api, plan, "Codertocat")
    assert plan.run(event, token="t").status == 0


def test_an_author_who_is_no_operator(plan: Action, api: ApiServer) -> None:
    administers(api, plan, Codertocat="write")
    result = plan.run(plan.event("pull_request.synchronize", branch="plan"), token="t")
    assert (result.status, result.codes) == (1, ["GK161"])


def test_the_operators_input_stands_for_the_forge(plan: Action, api: ApiServer) -> None:
    event = plan.event("pull_request.synchronize", branch="plan")
    assert plan.run(event, operators="someone, codertocat").status == 0
    assert plan.run(event, operators="someone").codes == ["GK161"]
    assert api.seen == []


@pytest.mark.parametrize("env", [{}, {"token": "t", "GITHUB_API_URL": "http://127.0.0.1:9"}, {"token": "t"}])
def test_a_forge_that_does_not_tell(plan: Action, env: dict[str, Any]) -> None:
    undecided(plan.run(plan.event("pull_request.synchronize", branch="plan"), **env), "GK003")


# -- merge queue and by hand -------------------------------------------------------


@pytest.fixture
def queue(honest: Action, api: ApiServer) -> tuple[Action, dict[str, Any]]:
    """An entry for the honest pull request, stacked on another entry."""
    sample, main = honest.sample, main_of(honest)
    branch = git(sample.folder, "rev-parse", BRANCH)
    other = sample.commit("other", {"docs/other.md": "x\n"}, main)
    first = sample.commit("gh-readonly-queue/main/pr-1-x", {"docs/other.md": "x\n"}, main, other)
    second = sample.commit("gh-readonly-queue/main/pr-2-x", FINISHED, first, branch)
    event = json.loads(json.dumps(honest.events["merge_group.checks_requested"]))
    event["merge_group"] |= {
        "base_sha": first,
        "head_sha": second,
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-2-{first}",
    }
    pull = honest.event("pull_request.opened")["pull_request"]
    api.answers[f"/repos/{honest.name}/pulls/2"] = (200, pull)
    honest.api = api.url
    return honest, event


def test_an_entry_is_judged_against_what_it_stacks_on(queue: tuple[Action, dict[str, Any]]) -> None:
    action, event = queue
    result = action.run(event, "merge_group", token="t")
    assert (result.status, result.codes, result.outputs["task-id"]) == (0, [], TASK), result.everything
    assert result.report["base"] == {"ref": "main", "commit": event["merge_group"]["base_sha"]}
    assert result.report["changed_paths"] == 3


def test_who_pushed_an_entry_is_asked_of_the_pull_requests_own_branch(
    plan: Action, api: ApiServer, events: dict[str, Any]
) -> None:
    main, branch = main_of(plan), git(plan.sample.folder, "rev-parse", "plan")
    head = plan.sample.commit("gh-readonly-queue/main/pr-2-x", PLAN, main, branch)
    queued = f"refs/heads/gh-readonly-queue/main/pr-2-{main}"
    event = json.loads(json.dumps(events["merge_group.checks_requested"]))
    event["merge_group"] |= {"base_sha": main, "head_sha": head, "head_ref": queued}
    pull = plan.event("pull_request.opened", branch="plan")["pull_request"]
    api.answers[f"/repos/{plan.name}/pulls/2"] = (200, pull)
    administers(api, plan, Codertocat="admin", mallory="write")
    pushed(api, plan, "Codertocat")
    assert plan.run(event, "merge_group", token="t").status == 0
    pushed(api, plan, "mallory")
    assert plan.run(event, "merge_group", token="t").codes == ["GK161"]


def test_an_entry_whose_pull_request_nobody_tells_of(
    queue: tuple[Action, dict[str, Any]], api: ApiServer
) -> None:
    action, event = queue
    undecided(action.run(event, "merge_group"), "GK003")
    api.answers.clear()
    undecided(action.run(event, "merge_group", token="t"), "GK003")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"head_ref": "refs/heads/gh-readonly-queue/main/x"}, "GK005"),
        ({"head_ref": "refs/heads/gh-readonly-queue/dev/pr-2-0a"}, "GK005"),
        ({"head_ref": "refs/heads/gh-readonly-queue/main/pr-2-0a\n::error::"}, "GK005"),
        ({"base_ref": "refs/heads/dev", "head_ref": "refs/heads/gh-readonly-queue/dev/pr-2-0a"}, "GK005"),
        ({"base_sha": "2" * 40}, "GK003"),
        ({"base_sha": "main"}, "GK005"),
        ({"head_sha": None}, "GK005"),
    ],
)
def test_an_entry_that_does_not_add_up(
    queue: tuple[Action, dict[str, Any]], change: dict[str, Any], code: str
) -> None:
    action, event = queue
    action.inside = True
    event["merge_group"] |= change
    undecided(action.run(event, "merge_group", token="t"), code)


def test_a_branch_judged_by_hand(honest: Action) -> None:
    event = honest.events["workflow_dispatch"]
    result = honest.run(event, "workflow_dispatch", head_ref=BRANCH, author="ann")
    assert (result.status, result.codes) == (0, []), result.everything
    assert (
        honest.run(event, "workflow_dispatch", head_ref=f"refs/heads/{BRANCH}", base_ref="main").status == 0
    )
    undecided(honest.run(event, "workflow_dispatch"), "GK005")
    undecided(honest.run(event, "workflow_dispatch", head_ref="gone"), "GK002")
    undecided(honest.run(event, "workflow_dispatch", head_ref=BRANCH, base_ref="gone"), "GK002")


def test_inputs_that_contradict_the_event(honest: Action) -> None:
    event = honest.event("pull_request.opened")
    assert honest.run(event, base_ref="main", head_ref=BRANCH, author="Codertocat").status == 0
    for name, value in (("base_ref", "dev"), ("head_ref", "x"), ("author", "octocat")):
        undecided(honest.run(event, **{name: value}), "GK005")


# -- hostile text --------------------------------------------------------------------

NASTY = "agent/x';$(touch pwned)`id`\"<img>|::error::forged ##[error]forged"


def test_a_hostile_branch_forges_nothing(make: Callable[..., Action]) -> None:
    action = make()
    main = main_of(action)
    head = action.sample.commit("refs/pull/2/head", FINISHED | {"src/auth/login.py": "x\n"}, main)
    branch = NASTY + "\n::error::forged\r##[error]\x1b[31m\u202e"
    action.sample.claim(NASTY, main, agent="a\u00e9 ::error::forged")
    result = action.run(action.event("pull_request.opened", branch=branch, head=head))
    assert result.status == 1, result.everything
    said = commands(result.stdout + result.stderr)
    assert all(command.startswith(("error ", "warning ")) and "title=GK" in command for command in said)
    assert not any(line.startswith(("::error::forged", "##[")) for line in result.everything.splitlines())
    assert not (result.folder / "ws" / "pwned").exists()
    assert "\x1b" not in result.everything
    assert "\u202e" not in result.everything


@pytest.mark.parametrize(
    "path",
    [
        "a\n::error::forged",
        "##[error]forged",
        "x\r::set-output name=verdict::pass",
        "|b|<img src=x>`",
        "-rf",
        "x\udcff",
    ],
)
def test_a_hostile_path_forges_nothing(make: Callable[..., Action], path: str) -> None:
    action = make()
    main = main_of(action)
    action.sample.commit(BRANCH, FINISHED | {path: "x\n"}, main)
    action.sample.claim(BRANCH, main)
    result = action.run(action.event("pull_request.opened"))
    assert (result.status, result.codes, result.outputs["verdict"]) == (1, ["GK141"], "fail")
    assert len(commands(result.stdout + result.stderr)) == 1
    assert set(result.outputs) == {"verdict", "lane", "task-id", "agent", "report"}
    assert "<img" not in result.summary.replace("`", "\0").split("\0")[0]


# -- outputs ---------------------------------------------------------------------------


def test_outputs_that_cannot_be_written_change_nothing(honest: Action) -> None:
    folder = str(honest.tmp)
    result = honest.run(
        honest.event("pull_request.opened"), GITHUB_OUTPUT=folder, GITHUB_STEP_SUMMARY=f"{folder}/no/x"
    )
    assert (result.status, result.report["verdict"]) == (0, "pass")
    assert "the step's outputs could not be written" in result.stderr
    assert "the step summary could not be written" in result.stderr
    result = honest.run(honest.event("pull_request.opened"), GITHUB_WORKSPACE=f"{folder}/no")
    assert (result.status, result.outputs["verdict"], result.outputs["report"]) == (0, "pass", "")
    assert "the JSON report could not be written" in result.stderr
    result = honest.run(honest.event("pull_request.opened"), GITHUB_OUTPUT=None, GITHUB_STEP_SUMMARY="")
    assert (result.status, result.stderr.count("could not")) == (0, 0)


def test_a_report_never_follows_a_link(honest: Action) -> None:
    victim = honest.tmp / "victim"
    victim.write_text("kept")
    honest.prepare = lambda folder: (folder / "ws" / "gatekeeper-report.json").symlink_to(victim)
    result = honest.run(honest.event("pull_request.opened"))
    assert (result.status, victim.read_text()) == (0, "kept")
    report = Path(result.outputs["report"])
    assert not report.is_symlink()
    assert report.stat().st_mode & 0o777 == 0o644


def test_nobody_reads_the_log(honest: Action) -> None:
    (honest.tmp / "event.json").write_text(json.dumps(honest.event("pull_request.opened")))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        COMMAND,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        cwd=honest.tmp,
        env={
            "PATH": os.environ["PATH"],
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(honest.tmp / "event.json"),
            "GITHUB_SERVER_URL": honest.server.url,
            "GITHUB_REPOSITORY": honest.name,
            "INPUT_NOW": "2026-08-20T12:00:00Z",
            "GITHUB_OUTPUT": str(honest.tmp / "outputs"),
        },
    )
    os.close(writer)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert "pass" in (honest.tmp / "outputs").read_text()
