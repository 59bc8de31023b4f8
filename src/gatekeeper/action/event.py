"""What an event asks: which two commits, and who stands behind them.

Events come from GitHub, and most of their text from whoever opened the pull request. Nothing is
taken for granted: a field that is missing or of another type is one clear error (GK005). Where
an event knows less than is needed (the base branch's tip of today, who is behind a merge
queue's entry), the field stays None and `run.py` asks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.action.inputs import Inputs, is_branch, repository, unusable
from gatekeeper.errors import GatekeeperError

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS = ("pull_request", "pull_request_target", "merge_group", "workflow_dispatch")
"""The events that ask something which can be judged."""

LARGEST = 32 << 20
"""Bytes of an event file that are read; GitHub's own limit is 25 MB."""

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request: who asks to merge which branch and commit of which repository into what.

    `head_repo` is empty where that repository is gone. `pusher` is None where it is not known.
    """

    base_ref: str
    base_repo: str
    head_ref: str
    head_repo: str
    head_commit: str
    author: str
    pusher: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be judged. `base_commit` and `head_commit` are None where the branch's tip is meant.

    `entry` is the number of the pull request that a merge queue's entry stands for; its facts are
    then in no event, and `pull` is None until they were asked of the forge.
    """

    base_ref: str
    head_ref: str
    base_commit: str | None = None
    head_commit: str | None = None
    pull: Pull | None = None
    entry: int | None = None
    author: str | None = None


def read_event(environ: Mapping[str, str], inputs: Inputs) -> Asked:
    """What the event asks, with the inputs beside it. Raises GatekeeperError (GK005)."""
    name = environ.get("GITHUB_EVENT_NAME", "")
    if name not in EVENTS:
        raise GatekeeperError(
            f"event {name[:60]!r} asks nothing that could be judged"
            if name
            else "GITHUB_EVENT_NAME is not set",
            f"Run the action on {', '.join(EVENTS[:-1])} or {EVENTS[-1]}.",
        )
    event = load(environ.get("GITHUB_EVENT_PATH", ""))
    if name == "workflow_dispatch":
        return _dispatched(event, inputs)
    asked = _queued(event) if name == "merge_group" else _pulled(event)
    for field, said, known in (
        ("base-ref", inputs.base_ref, asked.base_ref),
        ("head-ref", inputs.head_ref, asked.head_ref),
        ("author", inputs.author, asked.author),
    ):
        if said and known is not None and said != known:
            raise unusable(
                field, said, f"leave it out: it is for workflow_dispatch, and this {name} says {known!r}"
            )
    return asked


def told_pull(environ: Mapping[str, str]) -> Pull | None:
    """The pull request that the environment's event tells of, for `check` in a workflow of one's own.

    None where there is no event, or one that is about none. Raises GatekeeperError (GK005).
    """
    path = environ.get("GITHUB_EVENT_PATH")
    event = load(path) if path else {}
    return _pulled(event).pull if event.get("pull_request") is not None else None


def load(path: str) -> Mapping[str, object]:
    """The event file's JSON object. Raises GatekeeperError (GK005)."""
    if not path:
        raise GatekeeperError("GITHUB_EVENT_PATH is not set", "Run this as a GitHub action.")
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(LARGEST + 1)
        event = json.loads(data) if len(data) <= LARGEST else None
    except OSError as why:
        raise GatekeeperError(
            f"the event file can't be read: {why.strerror}", "Run this as a GitHub action."
        ) from None
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise GatekeeperError(
            "the event file is no JSON object", "It is the runner's to write: run the job again."
        )
    return event


def pull_facts(document: object, where: str = "the event's pull_request") -> Pull:
    """A pull request as events and the API describe it. Raises GatekeeperError (GK005)."""
    pull = _mapping(document, where)
    base, head = _mapping(pull.get("base"), f"{where}.base"), _mapping(pull.get("head"), f"{where}.head")
    if "repo" not in head:
        raise _bad(f"{where}.head.repo", "is missing")
    gone = head["repo"] is None
    return Pull(
        base_ref=_branch(base.get("ref"), f"{where}.base.ref"),
        base_repo=_repo(base.get("repo"), f"{where}.base.repo"),
        head_ref=_text(head.get("ref"), f"{where}.head.ref"),
        head_repo="" if gone else _repo(head["repo"], f"{where}.head.repo"),
        head_commit=_oid(head.get("sha"), f"{where}.head.sha"),
        author=_text(_mapping(pull.get("user"), f"{where}.user").get("login"), f"{where}.user.login"),
    )


def of_entry(asked: Asked, document: object) -> Asked:
    """A merge queue's entry with the facts of its pull request. Raises GatekeeperError (GK005)."""
    pull = pull_facts(document, f"GitHub's pull request {asked.entry}")
    if pull.base_ref != asked.base_ref:
        raise _bad(
            f"pull request {asked.entry}",
            f"is for branch {pull.base_ref!r}, the entry for {asked.base_ref!r}",
        )
    return replace(asked, pull=pull, author=pull.author)


def object_format(asked: Asked | None, environ: Mapping[str, str]) -> str:
    """The hash that the repository's objects are named by: an object's name tells by its length."""
    said = (asked.head_commit, asked.base_commit) if asked else ()
    known = (*said, environ.get("GITHUB_SHA"))
    name = next((oid for oid in known if oid and _OID.fullmatch(oid)), "")
    return "sha256" if len(name) == 64 else "sha1"  # noqa: PLR2004


def _pulled(event: Mapping[str, object]) -> Asked:
    """`pull_request` and `pull_request_target`: the base is the branch's tip of today, not the event's."""
    pull = pull_facts(event.get("pull_request"))
    pull = replace(pull, pusher=_pusher(event, pull.head_commit))
    return Asked(pull.base_ref, pull.head_ref, head_commit=pull.head_commit, pull=pull, author=pull.author)


def _pusher(event: Mapping[str, object], head: str) -> str | None:
    """Who pushed the head, where the event is the push itself.

    Only `synchronize` is: who opens, edits or reopens a pull request need not have pushed its branch.
    """
    sender = event.get("sender")
    if event.get("action") != "synchronize" or event.get("after") != head or not isinstance(sender, dict):
        return None
    login = sender.get("login")
    return login if isinstance(login, str) and login else None


def _queued(event: Mapping[str, object]) -> Asked:
    """`merge_group`: the entry's own commits against what it stacks on, which may be the entry before it."""
    group = _mapping(event.get("merge_group"), "the event's merge_group")
    base_ref = _branch(group.get("base_ref"), "the event's merge_group.base_ref").removeprefix("refs/heads/")
    head_ref = _branch(group.get("head_ref"), "the event's merge_group.head_ref").removeprefix("refs/heads/")
    found = re.fullmatch(
        r"pr-([1-9][0-9]{0,15})-[0-9a-f]+", head_ref.removeprefix(f"gh-readonly-queue/{base_ref}/")
    )
    if found is None:
        raise _bad(
            "the event's merge_group.head_ref",
            f"is {head_ref[:80]!r}, which names no pull request of {base_ref!r}",
        )
    return Asked(
        base_ref,
        head_ref,
        base_commit=_oid(group.get("base_sha"), "the event's merge_group.base_sha"),
        head_commit=_oid(group.get("head_sha"), "the event's merge_group.head_sha"),
        entry=int(found[1]),
    )


def _dispatched(event: Mapping[str, object], inputs: Inputs) -> Asked:
    """`workflow_dispatch`: the branch that the inputs name, against the default branch where they name no base."""
    if not inputs.head_ref:
        raise GatekeeperError(
            "input 'head-ref' is missing", "On workflow_dispatch, say which branch to judge."
        )
    base = inputs.base_ref
    if not base:
        repo = _mapping(event.get("repository"), "the event's repository")
        base = _branch(repo.get("default_branch"), "the event's repository.default_branch")
    return Asked(base, inputs.head_ref, author=inputs.author or None)


def base_repository(asked: Asked, environ: Mapping[str, str]) -> str:
    """The repository that is merged into."""
    return asked.pull.base_repo if asked.pull else repository(environ)


def _bad(field: str, what: str) -> GatekeeperError:
    return GatekeeperError(f"{field} {what}", "It is GitHub's to write: run the job again.")


def _mapping(value: object, field: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _bad(field, "is missing" if value is None else "is no object")
    return value


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise _bad(field, "is missing" if value in (None, "") else "is no text")
    return value


def _oid(value: object, field: str) -> str:
    text = _text(value, field)
    if not _OID.fullmatch(text):
        raise _bad(field, f"is {text[:80]!r}, and no commit")
    return text


def _branch(value: object, field: str) -> str:
    text = _text(value, field)
    if not is_branch(text):
        raise _bad(field, f"is {text[:80]!r}, and no branch")
    return text


def _repo(value: object, field: str) -> str:
    return _text(_mapping(value, field).get("full_name"), f"{field}.full_name")
