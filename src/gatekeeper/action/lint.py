"""The action's other command: the board's rules over the commit that the event is about.

Its history comes over without files, for how long ago tasks ended; then the few files that are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatekeeper import rules
from gatekeeper.action import outputs
from gatekeeper.edges.reader import Reader
from gatekeeper.errors import GatekeeperError
from gatekeeper.linting import Asked, lint_tree
from gatekeeper.model import Tip, Verdict
from gatekeeper.question import Question

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import TextIO

    from gatekeeper.edges.git import View
    from gatekeeper.edges.remote import Remote

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def linted(environ: Mapping[str, str], view: View, remote: Remote, now: datetime, stderr: TextIO) -> Verdict:
    """The verdict on the board of `$GITHUB_SHA`. Raises GatekeeperError."""
    commit = environ.get("GITHUB_SHA", "")
    if not _OID.fullmatch(commit):
        raise GatekeeperError(
            "GITHUB_SHA names no commit", "Run the action on push, schedule or workflow_dispatch."
        )
    remote.history(commit)
    tree = view.objects.commit(commit).tree
    outputs.say(stderr, f"linting {commit[:12]}")
    reader = Reader(Question(Tip("", None), Tip("", commit), now), view, rules.Codes(), remote.missing)
    return lint_tree(reader, tree, commit, Asked(), None).verdict
