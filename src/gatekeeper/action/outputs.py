"""What GitHub is told: annotations, step outputs, the step summary, the JSON report.

None of these may change a verdict: one that can't be written is said on standard error, and the
others go on. Values come from strangers (a task's id, an agent's name), so every output stands
between delimiters that nobody could know, and whatever is printed is made harmless first.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.model import Outcome
from gatekeeper.report import NO_RULES, Rules, render
from gatekeeper.report.escape import log_text, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from gatekeeper.model import Verdict

REPORT = "gatekeeper-report.json"
"""The report's name in the workspace: no hidden file, or an upload of artifacts would leave it out."""

CONTAINER_WORKSPACE = "/github/workspace"
"""Where the runner mounts the workspace in a container action; outside it has another path."""

LARGEST_SUMMARY = 1024 * 1024 - 16 * 1024
"""Bytes of a step summary: the runner drops all of one beyond 1,024 KiB."""

CUT = "\n\nThis summary was cut: the rest is in the step's log and in the JSON report.\n"


def publish(
    verdict: Verdict, environ: Mapping[str, str], stdout: TextIO, stderr: TextIO, rules: Rules = NO_RULES
) -> None:
    """Tell GitHub everything there is to tell. Raises nothing of what can go wrong outside."""
    report = ""

    def write_report() -> None:
        nonlocal report
        report = save_report(verdict, environ, rules)

    def annotations() -> None:
        _print(stdout, render(verdict, "github", rules))

    steps: list[tuple[str, Callable[[], None]]] = [
        ("the JSON report", write_report),
        ("the annotations", annotations),
        ("the step's outputs", lambda: save_outputs(verdict, report, environ)),
        ("the step summary", lambda: save_summary(verdict, environ, rules)),
    ]
    for what, write in steps:
        try:
            write()
        except (OSError, ValueError) as why:
            say(stderr, f"{what} could not be written: {getattr(why, 'strerror', None) or why}")
            if write is annotations:
                _silence(stdout)
    if verdict.outcome is Outcome.FAIL and not verdict.enforced:
        say(stderr, "the policy says enforce: false, so this failure blocks nothing")


def say(stderr: TextIO, text: str) -> None:
    """One line on standard error, which the runner reads for commands as well."""
    with contextlib.suppress(OSError, ValueError):  # nobody listens
        _print(stderr, log_text(f"gatekeeper: {text}") + "\n")


def save_report(verdict: Verdict, environ: Mapping[str, str], rules: Rules = NO_RULES) -> str:
    """Write the JSON report into the workspace; the path by which later steps find it.

    A file or a link of that name is replaced, never followed. In a container the path is relative
    to the workspace, which has another name for steps outside of it. Raises OSError.
    """
    workspace = environ.get("GITHUB_WORKSPACE") or str(Path.cwd())
    handle, name = tempfile.mkstemp(prefix=".gatekeeper-", dir=workspace)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(_encoded(render(verdict, "json", rules)))
            os.fchmod(handle, 0o644)  # steps after this one run as another user
        target = Path(workspace) / REPORT
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return REPORT if workspace.rstrip("/") == CONTAINER_WORKSPACE else str(target)


def save_outputs(verdict: Verdict, report: str, environ: Mapping[str, str]) -> None:
    """Append the step's outputs to `$GITHUB_OUTPUT`, where that is set. Raises OSError."""
    values = {
        "verdict": verdict.outcome.value,
        "lane": verdict.lane.value if verdict.command == "check" else "",
        "task-id": verdict.task.id if verdict.task else "",
        "agent": verdict.claim.claim.agent if verdict.claim else "",
        "report": report,
    }
    if path := environ.get("GITHUB_OUTPUT"):
        with Path(path).open("ab") as stream:
            stream.write(_encoded("".join(_output(name, value) for name, value in values.items())))


def save_summary(verdict: Verdict, environ: Mapping[str, str], rules: Rules = NO_RULES) -> None:
    """Append the Markdown report to `$GITHUB_STEP_SUMMARY`, cut by bytes. Raises OSError."""
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("ab") as stream:
            room = LARGEST_SUMMARY - stream.tell()
            stream.write(cut_lines(_encoded(render(verdict, "markdown", rules)), room))


def cut_lines(text: bytes, limit: int) -> bytes:
    """At most `limit` bytes of `text`: whole lines, and a last one that says that it was cut."""
    if len(text) <= limit:
        return text
    kept = text[: max(0, limit - len(CUT))]
    return (kept[: kept.rfind(b"\n") + 1] + CUT.encode())[: max(0, limit)]


def _output(name: str, value: str) -> str:
    """One output between delimiters; a value with line breaks is one value."""
    mark = f"gatekeeper_{secrets.token_hex(16)}"
    return f"{name}<<{mark}\n{whole(value)}\n{mark}\n"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _print(stream: TextIO, text: str) -> None:
    """Write text that the stream's encoding may not hold."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _silence(stream: TextIO) -> None:
    """Let go what a stream still holds: Python would try again at its end, and turn the exit status."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
