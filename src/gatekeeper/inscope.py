"""Whether one changed path is inside a task's authority, and if not, which rule says so.

A path gets one finding, the first that fits of GK144, GK142, GK143, GK146, GK141 (CONTRACT 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Authority, Change, State
from gatekeeper.scope import Patterns, holds_below, may_hold_below, names
from gatekeeper.snapshot import POLICY_PATH, SIGNERS_PATH

if TYPE_CHECKING:
    from collections.abc import Collection

    from gatekeeper.boards import Layout
    from gatekeeper.policy import Policy

OTHER_TASK, FORBIDDEN, PROTECTED, SUBMODULE, OUTSIDE = "GK144", "GK142", "GK143", "GK146", "GK141"


class Scope:
    """An authority under a policy, with the task's own paths beside it.

    Without an authority (`None`) only GK143 and GK144 can be judged, and everything else is let be.
    """

    def __init__(
        self, policy: Policy, layout: Layout, authority: Authority | None, own: Collection[bytes] = ()
    ) -> None:
        self._policy = policy
        self._layout = layout
        self._authority = authority
        self._own = frozenset(own)
        self._paths = Patterns(authority.paths if authority else ())
        self._forbid = Patterns(authority.forbid if authority else ())
        self._protected = Patterns(policy.protected, ignore_case=True)
        self._allowed = Patterns(policy.always_allowed)
        # Only patterns that name the queue's own folder, spelt out: a wide `**` elsewhere opens no queue.
        queue = layout.folder(State.QUEUED).decode()
        self._queue = Patterns(p for p in policy.always_allowed if f"{p}/".startswith(queue))

    def proposed(self, change: Change) -> bool:
        """Whether a change is a new queued task that the policy lets come with the work (GK147)."""
        place = self._layout.place(change.path)
        queued = place is not None and place.state is State.QUEUED and change.path not in self._own
        return queued and change.new_regular and self._queue.match(change.path) is not None

    def judge(self, change: Change) -> str | None:
        """The code of the finding that a changed path gets; None where it is inside."""
        path = change.path
        if path in self._own:
            return None
        if path.startswith(self._layout.tasks) and self._layout.place(path) is not None:
            if not self.proposed(change):
                return OTHER_TASK
            return FORBIDDEN if self._forbid.match(path) is not None else None
        if self._forbid.match(path) is not None:
            return FORBIDDEN
        if change.new_regular and self._allowed.match(path) is not None and not self._untouchable(path):
            return None
        if self._guarded(path):
            return PROTECTED
        if self._authority is None:
            return None
        if change.gitlink and not names(self._authority.paths, path):
            return SUBMODULE
        return None if self._paths.match(path) is not None else OUTSIDE

    def holds(self, change: Change) -> bool:
        """Whether a changed path is inside the authority."""
        return self.judge(change) is None

    def holds_target(self, path: bytes, *, folder: bool) -> bool:
        """Whether what a symlink leads to is inside: a file's path, or a folder with everything below it."""
        if self._authority is None or self._layout.place(path) is not None or self._guarded(path):
            return False
        if folder:
            return holds_below(self._authority.paths, path) and not may_hold_below(
                self._authority.forbid, path
            )
        return self._forbid.match(path) is None and self._paths.match(path) is not None

    def _untouchable(self, path: bytes) -> bool:
        """What no authority and no policy can open to a task."""
        return path in (POLICY_PATH, SIGNERS_PATH) or self._layout.never_in_scope(path)

    def _guarded(self, path: bytes) -> bool:
        """Protected, and not named by the authority as that very path with no wildcard."""
        if self._untouchable(path):
            return True
        if self._protected.match(path) is None:
            return False
        return self._authority is None or not names(self._authority.paths, path)
