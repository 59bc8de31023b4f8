"""`renew --every`: a claim kept alive in the foreground."""

from __future__ import annotations

import gc
import signal
import threading
from typing import TYPE_CHECKING

import click

from gatekeeper.errors import GatekeeperError, Refusal, RemoteUnreachable
from gatekeeper.report.escape import log_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

SOON = 15.0
"""Seconds until a renewal that the remote did not answer is tried again; twice as long each time, up to the interval."""


def keep_on(renew: Callable[[], str], every: float, stopping: threading.Event) -> int:
    """Call `renew` now and every `every` seconds, until `stopping` is set (0) or until the claim is lost (1).

    `renew` answers with the line to print. A remote that is away is asked again, sooner; nothing is lost by that
    as long as nobody else takes the claim, for its holder may renew it past its expiry. So is whatever else keeps
    a renewal from being made: others who are quicker, a lock that is out of joint, and, once one was made, all but
    a refusal; what is wrong from the start (no key to sign with) ends it (2).
    """
    gc.enable()
    pause, renewed = SOON, False
    while not stopping.is_set():
        try:
            click.echo(log_text(renew()))
            pause, wait, renewed = SOON, every, True
        except GatekeeperError as problem:
            if stopping.is_set():  # git was told to stop as well
                break
            passing = _passes(problem)
            if isinstance(problem, Refusal) and not passing:
                click.echo(f"gatekeeper: STOP: {log_text(problem.message)}", err=True)
                click.echo(f"  {log_text(problem.hint)}", err=True)
                return 1
            if not renewed and not passing:
                raise
            wait, pause = min(pause, every), min(pause * 2, every)
            click.echo(f"gatekeeper: {log_text(problem.message)}; again in {wait:.0f} s", err=True)
        stopping.wait(wait)
    click.echo("gatekeeper: stopped; the claim stands until it expires", err=True)
    return 0


def _passes(problem: GatekeeperError) -> bool:
    """Whether a renewal that failed says nothing of the claim, and the next one may succeed."""
    from gatekeeper.edges.claimstore import Conflict  # noqa: PLC0415 -- imported by the renewal itself
    from gatekeeper.holding import Unsettled  # noqa: PLC0415

    return isinstance(problem, RemoteUnreachable | Conflict | Unsettled)


def heeding() -> threading.Event:
    """An event that is set by SIGTERM, SIGINT and SIGHUP from now on, but for those that were ignored (nohup)."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        stopping.set()

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, stop)
    return stopping
