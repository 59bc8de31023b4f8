"""What every command is given, and how a verdict leaves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from gatekeeper.errors import GatekeeperError
from gatekeeper.model import Outcome, Verdict
from gatekeeper.report import FORMATS, render
from gatekeeper.report.base import RuleInfo
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime


class World(NamedTuple):
    """Where and when a command runs. `explicit`: the folder was named, so the environment's GIT_DIR has no say.

    `now` is `--now`'s moment if one was `given`, else the clock's.
    """

    cwd: Path
    explicit: bool
    environ: Mapping[str, str]
    now: datetime
    given: datetime | None = None

    @property
    def in_ci(self) -> bool:
        """In CI is `GITHUB_ACTIONS=true` (CONTRACT 1)."""
        return self.environ.get("GITHUB_ACTIONS") == "true"


format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
"""`--format` of the commands that say what they did."""

remote_option = click.option(
    "--remote", metavar="NAME", help="The remote that holds the claims [base's upstream, else origin]."
)
"""`--remote` of the commands that ask one."""


def report_options(command: Callable[..., int]) -> Callable[..., int]:
    """`--format` and `--output` of the commands that end in a verdict."""
    output = click.option(
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the report there.",
    )
    form = click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
    dressed: Callable[..., int] = form(output(command))
    return dressed


def tell(form: str, text: str, document: Mapping[str, object], *more: str) -> None:
    """Say what was done, as text or as JSON. Each text is one line, whatever it holds: hostile line breaks are shown."""
    if form == "json":
        click.echo(json.dumps({"version": 1, **document}, indent=1))
        return
    for line in (text, *more):
        click.echo(log_text(line))


def rule_infos() -> Mapping[str, RuleInfo]:
    """What reports say of each rule."""
    from gatekeeper.rules import ALL  # noqa: PLC0415 -- not every command needs the rules

    return {r.code: RuleInfo(r.code, r.name, r.doc.summary, r.doc.mend, r.severity) for r in ALL}


def emit(verdict: Verdict, form: str, output: Path | None) -> int:
    """Write a verdict where it goes; the command's exit status.

    A text verdict `error` has nothing to report but its error, which goes to standard error.
    Raises GatekeeperError where `output` can't be written.
    """
    if form not in FORMATS:
        raise click.UsageError(f"there is no format {form!r}")
    if verdict.outcome is Outcome.ERROR:
        for finding in verdict.findings:
            click.echo(
                f"gatekeeper: error: {log_text(finding.message)} [{finding.code} {finding.name}]", err=True
            )
            if finding.help:
                click.echo(f"  {log_text(finding.help)}", err=True)
    needs_rules = form in ("sarif", "markdown")
    if not (form == "text" and verdict.outcome is Outcome.ERROR and output is None):
        colour = output is None and _shows_colours()
        text = render(verdict, form, rule_infos() if needs_rules else {}, colour=colour)
        if output is None:
            click.echo(text, nl=False)
        else:
            _save(text, output)
    if verdict.outcome is Outcome.FAIL and not verdict.enforced:
        click.echo("gatekeeper: not enforced: base's policy says `enforce: false`, so this exits 0", err=True)
    return status(verdict)


def _shows_colours() -> bool:
    """Whether the report goes to a terminal, and nobody asked for none there (no-color.org)."""
    environ = click.get_current_context().obj.environ
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _save(text: str, output: Path) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as why:
        said = getattr(why, "strerror", None) or why
        raise GatekeeperError(
            f"the report could not be written to {str(output)!r}: {said}",
            "Name a file in a folder that is there and can be written to.",
        ) from why


def status(verdict: Verdict) -> int:
    """0 holds (or is not enforced), 1 it does not, 2 could not be decided."""
    if verdict.outcome is Outcome.ERROR:
        return 2
    return 1 if verdict.outcome is Outcome.FAIL and verdict.enforced else 0
