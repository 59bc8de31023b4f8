"""Opening a clone for a claim command: everything that git and the remote can be asked before a rule is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.edges.claimstore import ClaimStore
from gatekeeper.edges.clone import Asked, Clone
from gatekeeper.edges.git import Repository
from gatekeeper.model import Tip
from gatekeeper.question import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path


class Opening(NamedTuple):
    """A clone, its claims, and the question with base, head and branch found."""

    clone: Clone
    store: ClaimStore
    question: Question


def open_clone(
    cwd: Path,
    environ: Mapping[str, str],
    now: datetime,
    *,
    explicit: bool = False,
    asked: Asked | None = None,
    ahead: Sequence[str] | None = None,
) -> Opening:
    """Open the clone that `cwd` stands in. `ahead` are tasks whose claims will be learnt first, if that is known.

    An empty `ahead` stands for the tasks that the current branch holds. Raises GatekeeperError.
    """
    clone = Clone(Repository(cwd, environ, explicit=explicit), environ, asked or Asked())
    try:
        store = ClaimStore(clone)
        if ahead is not None:
            store.expect(ahead or store.guess(clone.repository.branch(), now))
        return Opening(clone, store, clone.complete(Question(Tip("", None), Tip("HEAD", None), now)))
    except BaseException:
        clone.close()
        raise
