"""Whether one changed path is inside a task's authority, and if not, which rule says so.

A path gets one finding, the first that fits of GK144, GK142, GK143, GK146, GK141 (CONTRACT 2).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatekeeper.model import REGULAR, Authority, Change, State
from gatekeeper.scope import Patterns, fold, holds_below, may_hold_below, names
from gatekeeper.snapshot import POLICY_PATH, SIGNERS_PATH

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gatekeeper.boards import Layout
    from gatekeeper.policy import Policy

OTHER_TASK, FORBIDDEN, PROTECTED, SUBMODULE, OUTSIDE = "GK144", "GK142", "GK143", "GK146", "GK141"

# `.git` of a folded path, as any system may spell it: NTFS has a short name for it, and drops dots and blanks at
# a name's end and all behind a colon.
GIT_FOLDER = re.compile(rb"(?:^|[/\\])(?:\.git|git~[0-9]+)[. ]*(?:[/\\:]|$)")
_ANYWHERE = re.compile(r"(?:\*\*/)+(?!\*\*|$)")
_PLAIN = frozenset((0, *REGULAR))  # modes of a regular file, or of none
_MANY = 100  # changes that are worth a look at all of them at once
_DEEPEST = 100  # names of a folder; one deeper down is taken to hold something protected


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
        self._never = {POLICY_PATH, SIGNERS_PATH, layout.plan, layout.manifest}
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
        return queued and change.new_regular and self._queue.holds(change.path)

    def judge(self, change: Change) -> str | None:
        """The code of the finding that a changed path gets; None where it is inside."""
        path = change.path
        if path in self._own:
            return None
        if path.startswith(self._layout.tasks) and self._layout.place(path) is not None:
            if not self.proposed(change):
                return OTHER_TASK
            return FORBIDDEN if self._forbid.holds(path) else None
        if self._forbid.patterns and self._forbid.holds(path):
            return FORBIDDEN
        if (
            not change.old_mode
            and change.new_regular
            and self._allowed.holds(path)
            and not self._untouchable(path)
        ):
            return None
        if self._guarded(path):
            return PROTECTED
        if self._authority is None:
            return None
        if change.gitlink and not names(self._authority.paths, path):
            return SUBMODULE
        return None if self._paths.holds(path) else OUTSIDE

    def judge_all(self, changes: Sequence[Change]) -> dict[str, list[Change]]:
        """The changes that get a finding, by its code."""
        judged: dict[str, list[Change]] = {}
        for change in self._doubtful(changes):
            if (code := self.judge(change)) is not None:
                judged.setdefault(code, []).append(change)
        return judged

    def _doubtful(self, changes: Sequence[Change]) -> Sequence[Change]:
        """All changes but those that are plainly inside: asking for each of thousands takes long.

        Plainly inside are regular files below a folder that the authority spells out, if the board,
        and what is protected or forbidden, can hold none of them.
        """
        if self._authority is None or len(changes) < _MANY:
            return changes
        starts, plain = self._paths.starts, _PLAIN
        inside: list[bytes] = []
        doubtful: list[Change] = []
        for change in changes:
            path, old_mode, new_mode, _, _ = change
            if new_mode in plain and old_mode in plain and path.startswith(starts):
                inside.append(path)
            else:
                doubtful.append(change)
        listed = b"\0" + b"\0\0".join(inside) + b"\0"
        board = b"\0" + self._layout.tasks in listed or not self._never.isdisjoint(inside)
        if board or self._protected.may_hold_one_of(listed) or self._forbid.may_hold_one_of(listed):
            return changes
        return doubtful

    def holds(self, change: Change) -> bool:
        """Whether a changed path is inside the authority."""
        return self.judge(change) is None

    def holds_target(self, path: bytes, *, folder: bool | None) -> bool:
        """Whether what a symlink leads to is inside: a file's path, or a folder with everything below it.

        `folder` is None where the tree can't tell (nothing stands there, or a submodule): it may be either.
        """
        if self._authority is None or self._layout.place(path) is not None or self._guarded(path):
            return False
        if GIT_FOLDER.search(fold(path)) or (folder is not False and self._guards_below(path)):
            return False
        if folder:
            return holds_below(self._authority.paths, path) and not may_hold_below(
                self._authority.forbid, path
            )
        return self._forbid.match(path) is None and self._paths.holds(path)

    def _guards_below(self, folder: bytes) -> bool:
        """Whether something protected, or the board's, can stand below a folder, in any case of letters."""
        if not folder or folder.count(b"/") >= _DEEPEST:
            return True
        own, tasks = fold(folder) + b"/", fold(self._layout.tasks)
        never = (POLICY_PATH, SIGNERS_PATH, self._layout.plan, self._layout.manifest, tasks)
        if own.startswith(tasks) or any(fold(path).startswith(own) for path in never):
            return True
        return any(_may_guard(pattern, folder) for pattern in self._policy.protected)

    def _untouchable(self, path: bytes) -> bool:
        """What no authority and no policy can open to a task."""
        return path in self._never

    def _guarded(self, path: bytes) -> bool:
        """Protected, and not named by the authority as that very path with no wildcard."""
        if path in self._never:
            return True
        if not self._protected.holds(path):
            return False
        return self._authority is None or not names(self._authority.paths, path)


def _may_guard(pattern: str, folder: bytes) -> bool:
    """Whether a protected pattern can hold a path below a folder, in any case of letters.

    A leading `**/` alone says nothing of this folder, since `**/CODEOWNERS` could hold a path below
    any: one of the folder's own names has to fit what follows it.
    """
    lead = _ANYWHERE.match(pattern)
    rest = pattern[lead.end() :] if lead else pattern
    rests = (rest, fold(rest.encode("utf-8", "replace")).decode("utf-8", "replace"))
    for case in {folder, fold(folder)}:
        parts = case.split(b"/")
        starts = range(len(parts)) if lead else range(1)
        if any(may_hold_below(rests, b"/".join(parts[start:])) for start in starts):
            return True
    return False
