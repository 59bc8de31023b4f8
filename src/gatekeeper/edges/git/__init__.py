"""The git program: the only caller of it, and how its objects are read.

Two kinds of repository meet here. `Repository` is the user's own, as they set it
up; it is asked for refs and settings and never written. `View` is a bare
repository of ours in a temporary folder, over the same objects: merges, diffs and
history are computed there under settings that nobody else can change (CONTRACT 1),
so no attribute, replace ref, graft, hook or option of the user's or of the head's
has a say, and what the merge writes is thrown away with the folder.
"""

from gatekeeper.edges.git.objects import LARGEST_BLOB, Commit, Objects
from gatekeeper.edges.git.repository import Repository
from gatekeeper.edges.git.run import (
    OLDEST_GIT,
    SYMBOLIC,
    Done,
    Running,
    base_environment,
    parse_refs,
    refuse_old_git,
    run_git,
)
from gatekeeper.edges.git.view import View, view_over

__all__ = [
    "LARGEST_BLOB",
    "OLDEST_GIT",
    "SYMBOLIC",
    "Commit",
    "Done",
    "Objects",
    "Repository",
    "Running",
    "View",
    "base_environment",
    "parse_refs",
    "refuse_old_git",
    "run_git",
    "view_over",
]
