"""Runs `gatekeeper`, in this process or as one of its own, and reads what it says."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report that it printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def severities(self) -> dict[str, set[str]]:
        """Each code of the report's findings, and how severe it is found."""
        found: dict[str, set[str]] = {}
        for finding in self.report["findings"]:
            found.setdefault(finding["code"], set()).add(finding["severity"])
        return found

    @property
    def codes(self) -> set[str]:
        """The codes of the report's findings."""
        return set(self.severities)

    @property
    def verdict(self) -> str:
        """The report's verdict."""
        return str(self.report["verdict"])


def in_process(args: Sequence[str], env: Mapping[str, str]) -> Ran:
    """Run `gatekeeper` with these arguments in this process; a fault of its own is raised."""
    from gatekeeper.cli import run  # noqa: PLC0415 -- only who runs in process needs it

    out, err = io.StringIO(), io.StringIO()
    wanted = {"GATEKEEPER_TRACEBACK": "1", **env}
    with patch.dict(os.environ, wanted, clear=True), redirect_stdout(out), redirect_stderr(err):
        status = run(list(args))
    return Ran(status, out.getvalue(), err.getvalue())


def as_process(args: Sequence[str], env: Mapping[str, str], cwd: Path, python: Sequence[str] = ()) -> Ran:
    """Run `gatekeeper` with these arguments as a process of its own; `python` are options of the interpreter."""
    command = [sys.executable, *python, "-m", "gatekeeper", *args]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert "Traceback (most recent call last)" not in done.stderr, done.stderr
    assert "a fault of gatekeeper's own" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def sound(done: Ran) -> None:
    """Hold a command's exit status, verdict and findings against each other, whatever they say."""
    report = done.report
    enforced = "not enforced" not in done.err
    assert done.status == {"pass": 0, "fail": 1 if enforced else 0, "error": 2}[report["verdict"]], done.err
    ranks = {"error": 0, "warning": 1, "notice": 2}
    order = [(ranks[f["severity"]], f["code"], f["path"] or "", f["line"] or 0) for f in report["findings"]]
    assert order == sorted(order)
    assert (report["verdict"] == "pass") == (0 not in {rank for rank, *_ in order})
