"""The action from end to end: read what is asked, fetch what decides, ask the gate, tell GitHub.

There is no checkout. An empty repository in a temporary folder takes in the base branch's tip,
the head's commit, the history between them without blobs, the finished task's claims, and the
few blobs that are read. Nothing of the head is ever written to the workspace, or run.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gatekeeper.action import event, outputs
from gatekeeper.action.inputs import Inputs, read_inputs, repository, server_url
from gatekeeper.cli.base import rule_infos, status
from gatekeeper.edges import clock
from gatekeeper.edges.git import View, refuse_old_git
from gatekeeper.edges.github import GitHubForge, Pushed
from gatekeeper.edges.remote import Remote
from gatekeeper.errors import GatekeeperError, HistoryMissing, unforeseen
from gatekeeper.gate import undecided
from gatekeeper.model import Tip, Verdict
from gatekeeper.question import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import TextIO

    from gatekeeper.action.event import Asked

REMOTE = "origin"
SLOWEST = (("http.lowSpeedLimit", "1000"), ("http.lowSpeedTime", "60"))
"""A remote that sends fewer bytes a second for a minute has stopped answering."""
HINT = "Look at the network, and whether the input `token` may read this repository (`contents: read`)."


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runner says beside the event."""

    environ: Mapping[str, str]
    inputs: Inputs
    repository: str
    server: str
    now: datetime

    @property
    def in_ci(self) -> bool:
        """CONTRACT 1: in CI is `GITHUB_ACTIONS=true`."""
        return self.environ.get("GITHUB_ACTIONS") == "true"

    @property
    def url(self) -> str:
        """Where objects and claims are fetched from."""
        return self.inputs.remote or f"{self.server}/{self.repository}"


def main(environ: Mapping[str, str], stdout: TextIO, stderr: TextIO, now: datetime | None = None) -> int:
    """Run the action; its exit status: 0 passes (or is not enforced), 1 fails, 2 could not be decided.

    Whatever goes wrong ends in a verdict, and every verdict is told: a step that leaves no outputs
    would look to later steps like one that never ran.
    """
    try:
        verdict = _verdict(environ, stdout, stderr, now or clock.now())
    except Exception as why:  # noqa: BLE001 -- the last line of defence: an error verdict, never a traceback
        verdict = undecided(unforeseen(why, environ), None)
    outputs.publish(verdict, environ, stdout, stderr, rule_infos())
    return status(verdict)


def _verdict(environ: Mapping[str, str], stdout: TextIO, stderr: TextIO, now: datetime) -> Verdict:
    inputs = read_inputs(environ)
    setting = Setting(environ, inputs, repository(environ), server_url(environ), inputs.now or now)
    asked = event.read_event(environ, inputs) if inputs.command == "check" else None
    refuse_old_git(environ)
    transport = [(f"remote.{REMOTE}.url", setting.url), *SLOWEST, *_authorised(setting, stdout)]
    form = event.object_format(asked, environ)
    with View(environ, object_format=form, transport=transport, promisor=REMOTE) as view:
        if asked is not None:
            return _fetched(setting, asked, view, stderr)
        from gatekeeper.action.lint import linted  # noqa: PLC0415 -- the other command

        try:
            return linted(environ, view, Remote(view, REMOTE, hint=HINT), setting.now, stderr)
        except GatekeeperError as problem:
            return undecided(problem, None)._replace(command="lint")


def _authorised(setting: Setting, stdout: TextIO) -> Sequence[tuple[str, str]]:
    """How the token goes along: to the forge's own address alone, and masked in the log."""
    if not setting.inputs.token or not setting.server.startswith("http"):
        return ()
    basic = base64.b64encode(f"x-access-token:{setting.inputs.token}".encode()).decode()
    if setting.in_ci:
        stdout.write(f"::add-mask::{basic}\n")
        stdout.flush()
    return ((f"http.{setting.server}/.extraheader", f"Authorization: basic {basic}"),)


def _fetched(setting: Setting, asked: Asked, view: View, stderr: TextIO) -> Verdict:
    """Fetch both sides and decide; an error names as much of both as is known by then."""
    from gatekeeper.deciding import decide  # noqa: PLC0415 -- an event that asks nothing needs no rules
    from gatekeeper.edges.claimrefs import RemoteClaims  # noqa: PLC0415

    question = _question(setting, asked)
    remote = Remote(view, REMOTE, hint=HINT)
    try:
        if asked.entry is not None:
            asked = event.of_entry(asked, _forge(setting, asked).pull_request(asked.entry))
            question = _question(setting, asked)
        head = asked.head_commit or _tip(remote, asked.head_ref)
        question = question._replace(head=Tip(asked.head_ref, head))
        base = _base(remote, asked)
        question = question._replace(base=Tip(asked.base_ref, base))
        remote.bring(base, head)
    except GatekeeperError as problem:
        return undecided(problem, question)
    outputs.say(stderr, f"judging {asked.head_ref} at {head[:12]} against {asked.base_ref} at {base[:12]}")
    forge = _forge(setting, asked) if setting.in_ci or setting.inputs.token else None
    return decide(question, view, RemoteClaims(view, remote, deepen=True), forge, remote)


def _question(setting: Setting, asked: Asked) -> Question:
    pull = asked.pull
    return Question(
        Tip(asked.base_ref, asked.base_commit),
        Tip(asked.head_ref, asked.head_commit),
        setting.now,
        branch=pull.head_ref if pull else asked.head_ref,
        author=asked.author,
        pusher=pull.pusher if pull else None,
        operators=setting.inputs.operators,
        base_repo=pull.base_repo if pull else setting.repository,
        head_repo=pull.head_repo if pull else setting.repository,
        in_ci=setting.in_ci,
    )


def _base(remote: Remote, asked: Asked) -> str:
    """Base's commit, fetched: a queue's entry says which one, everything else means today's tip."""
    if asked.base_commit is not None:
        return remote.commit(asked.base_commit)
    tip = remote.tip(asked.base_ref, shallow=True)
    if tip is None:
        raise _no_branch("base", asked.base_ref)
    return tip


def _tip(remote: Remote, branch: str) -> str:
    tip = remote.peek(branch)
    if tip is None:
        raise _no_branch("head", branch)
    return tip


def _no_branch(side: str, branch: str) -> HistoryMissing:
    return HistoryMissing(
        f"the remote has no branch {branch!r}, which is the {side} branch",
        "If it was renamed or deleted, point the pull request at a branch that is there.",
    )


def _forge(setting: Setting, asked: Asked) -> GitHubForge:
    """Who can be asked about people; nothing is asked until an answer decides."""
    pull = asked.pull
    return GitHubForge(
        setting.environ.get("GITHUB_API_URL", ""),
        setting.inputs.token,
        setting.repository,
        operators_token=setting.inputs.operators_token,
        head=Pushed(pull.head_repo, pull.head_ref, pull.head_commit) if pull else None,
    )
