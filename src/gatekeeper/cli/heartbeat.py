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


def keep_on(renew: Callable[[], str], every: float, stop: threading.Event | None = None) -> int:
    """Call `renew` now and every `every` seconds, until SIGTERM or SIGINT (0) or until the claim is lost (1).

    `renew` answers with the line to print. A remote that is away is asked again, sooner; nothing is lost by that
    as long as nobody else takes the claim, for its holder may renew it past its expiry. So is whatever else keeps
    a renewal from being made once one was; what is wrong from the start (no key to sign with) ends it (2).
    """
    gc.enable()
    stopping = stop or _on_signals()
    pause, renewed = SOON, False
    while not stopping.is_set():
        try:
            click.echo(log_text(renew()))
            pause, wait, renewed = SOON, every, True
        except Refusal as lost:
            click.echo(f"gatekeeper: STOP: {log_text(lost.message)}", err=True)
            click.echo(f"  {log_text(lost.hint)}", err=True)
            return 1
        except GatekeeperError as problem:
            if not renewed and not isinstance(problem, RemoteUnreachable):
                raise
            wait, pause = min(pause, every), min(pause * 2, every)
            click.echo(f"gatekeeper: {log_text(problem.message)}; again in {wait:.0f} s", err=True)
        stopping.wait(wait)
    click.echo("gatekeeper: stopped; the claim stands until it expires", err=True)
    return 0


def _on_signals() -> threading.Event:
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        stopping.set()

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, stop)
    return stopping
