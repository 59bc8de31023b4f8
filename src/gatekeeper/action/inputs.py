"""The action's inputs, as the runner hands them on: `INPUT_<NAME>` in the environment.

The runner upper-cases a name and keeps its dashes (`base-ref` is `INPUT_BASE-REF`); a shell can
set no such variable, so `INPUT_BASE_REF` is read as well. An input that is empty was not given.
What an input holds may come from an expression over the event, so it is checked like the event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gatekeeper.edges import clock
from gatekeeper.errors import GatekeeperError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

COMMANDS = ("check", "lint")
"""What `command` takes."""

SHOWN = 60
"""Characters of a value that a message quotes."""

_TOKEN = re.compile(r"[!-~]{1,4096}")
_REMOTE = re.compile(r"(https?|ssh|file)://[!-~]+")
_LOGIN = re.compile(r"[A-Za-z0-9_.-]{1,100}(\[bot\])?")
_BAD_IN_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|(^|/)\.|\.lock(/|$)")
_SERVER = re.compile(r"(https?|file)://[!-~]*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the workflow says. Empty text, an empty tuple and None are "not given"."""

    command: str = "check"
    token: str = ""
    operators_token: str = ""
    base_ref: str = ""
    head_ref: str = ""
    remote: str = ""
    author: str = ""
    operators: tuple[str, ...] = ()
    now: datetime | None = None


def read_inputs(environ: Mapping[str, str]) -> Inputs:
    """The inputs. Raises GatekeeperError (GK005) that names the input which can't be used."""
    command = given(environ, "command") or "check"
    if command not in COMMANDS:
        raise unusable("command", command, f"this action can run {', '.join(COMMANDS)}")
    return Inputs(
        command=command,
        token=_matching(environ, "token", _TOKEN, secret=True),
        operators_token=_matching(environ, "operators-token", _TOKEN, secret=True),
        base_ref=_branch(environ, "base-ref"),
        head_ref=_branch(environ, "head-ref"),
        remote=_matching(environ, "remote", _REMOTE, "write a URL: https://host/owner/name"),
        author=_matching(environ, "author", _LOGIN, "write a login"),
        operators=_operators(environ),
        now=_now(environ),
    )


def given(environ: Mapping[str, str], name: str) -> str:
    """One input, without blanks around it; empty where it was not given."""
    spelt = name.upper()
    return (environ.get(f"INPUT_{spelt}") or environ.get(f"INPUT_{spelt.replace('-', '_')}") or "").strip()


def unusable(name: str, value: str, hint: str) -> GatekeeperError:
    """What to raise of an input's value; it is quoted, so that it can't steer a log."""
    shown = value if len(value) <= SHOWN else value[:SHOWN] + "…"
    return GatekeeperError(f"input {name!r} is {shown!r}", f"In the workflow's `with:`, {hint}.")


def is_branch(name: str) -> bool:
    """Whether git would take `name` for a branch (git-check-ref-format(1))."""
    return 0 < len(name) <= 1024 and name != "@" and _BAD_IN_BRANCH.search(name) is None  # noqa: PLR2004


def server_url(environ: Mapping[str, str]) -> str:
    """The forge's address, without a slash at the end. Raises GatekeeperError."""
    url = environ.get("GITHUB_SERVER_URL", "").rstrip("/")
    if not _SERVER.fullmatch(url):
        raise _unset("GITHUB_SERVER_URL", url)
    return url


def repository(environ: Mapping[str, str]) -> str:
    """The repository that the workflow runs in, `owner/name`. Raises GatekeeperError."""
    name = environ.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(name):
        raise _unset("GITHUB_REPOSITORY", name)
    return name


def _unset(name: str, value: str) -> GatekeeperError:
    what = f"is {value[:SHOWN]!r}" if value else "is not set"
    return GatekeeperError(
        f"{name} {what}", "Run this as a GitHub action, or run `gatekeeper check` in a clone instead."
    )


def _matching(
    environ: Mapping[str, str], name: str, wanted: re.Pattern[str], hint: str = "", *, secret: bool = False
) -> str:
    value = given(environ, name)
    if not value or wanted.fullmatch(value):
        return value
    if secret:
        raise GatekeeperError(
            f"input {name!r} holds characters that no token has",
            "Look at the secret: is there a line break in it?",
        )
    raise unusable(name, value, hint)


def _branch(environ: Mapping[str, str], name: str) -> str:
    value = given(environ, name).removeprefix("refs/heads/")
    if value and not is_branch(value):
        raise unusable(name, value, "write the name of a branch")
    return value


def _operators(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Logins between commas, blanks or line breaks; an `@` before one is taken off."""
    value = given(environ, "operators")
    logins = tuple(login.removeprefix("@") for login in re.split(r"[\s,]+", value) if login)
    for login in logins:
        if not _LOGIN.fullmatch(login):
            raise unusable("operators", login, "write logins with blanks between them")
    return logins


def _now(environ: Mapping[str, str]) -> datetime | None:
    value = given(environ, "now")
    parse: Callable[[str], datetime] = clock.parse_moment
    try:
        return parse(value) if value else None
    except ValueError:
        raise unusable("now", value, "write a moment as 2026-08-20T12:00:00Z, or leave it out") from None
