"""The names of the refs that claims live under, and how an id is spelt in one. CONTRACT 3.

Layouts have ids of their own, and some are no ref name (`..`, a space, `x.lock`). In refs an
id keeps letters, digits, `_`, `-`, `.` and the slashes between its segments; every other byte
of its UTF-8 is `%XX`, and so is a dot that git refuses where it stands (at either end of a
segment, beside another dot, before a final `lock`) and a leading `-`. An empty segment is `%`
alone. Two ids never meet in one spelling, and an id has one spelling only.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

SWARM = "refs/swarm/"
CLAIMS = "refs/swarm/task-claims/"
LOCKS = "refs/swarm/task-locks/"
LOG = "refs/swarm/claim-log/"
ARCHIVE = "refs/swarm/claim-archive"
MALFORMED = "refs/swarm/claim-malformed/"

_UNSAFE = re.compile(rb"[^A-Za-z0-9_.-]|^-|^\.|\.\Z|\.(?=\.)|(?<=\.)\.|\.(?=(?i:lock)\Z)", re.DOTALL)
_EMPTY = "%"
_LONGEST = (
    200  # characters that are kept of a name which is nobody's: a file system holds 255, `.lock` included
)


def encode_id(task_id: str) -> str:
    """An id as refs spell it; always a name that `git check-ref-format` accepts below a folder."""
    return "/".join(_segment(part) for part in task_id.split("/"))


def decode_id(spelt: str) -> str | None:
    """The id that `encode_id` spells like this; None for a spelling that it would not have made."""
    parts = ("" if part == _EMPTY else part for part in spelt.split("/"))
    try:
        found = "/".join(unquote_to_bytes(part).decode("utf-8", "surrogatepass") for part in parts)
    except UnicodeError:  # no UTF-8 behind the percent signs, or a lone surrogate in the text itself
        return None
    return found if encode_id(found) == spelt else None


def claim_ref(task_id: str) -> str:
    """The ref that holds the task's standing claim."""
    return CLAIMS + encode_id(task_id)


def lock_ref(key: str) -> str:
    """The ref that stands for a lock key: the first 16 hex digits of the key's sha256."""
    import hashlib  # noqa: PLC0415 -- it brings all of OpenSSL, and most tasks have no locks

    return LOCKS + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def log_prefix(task_id: str) -> str:
    """What the task's log refs begin with, slash included.

    Where ids hold slashes another task's log may stand deeper below it: ask `log_entry` of each ref.
    """
    return f"{LOG}{encode_id(task_id)}/"


def log_ref(task_id: str, stamp: str) -> str:
    """The log ref of a claim that ended at `stamp` (see `blob.stamp`)."""
    return log_prefix(task_id) + stamp


def malformed_ref(task_id: str, stamp: str) -> str:
    """Where the blob of a malformed claim is kept that was cleared at `stamp`; never part of the log."""
    return f"{MALFORMED}{encode_id(task_id)}/{stamp}"


def aside_ref(ref: str) -> str:
    """The folder that a ref goes to whose name is no task's; a stamp follows. No id is spelt with a `%` at its end."""
    name = ref.removeprefix(SWARM).partition("/")[2]
    return f"{MALFORMED}{name[:_LONGEST]}%/"


def archive_path(task_id: str, stamp: str) -> str:
    """Where the tree of `ARCHIVE`'s commit holds a log entry."""
    return f"{encode_id(task_id)}/{stamp}.json"


def claim_task(ref: str) -> str | None:
    """The task whose claim ref this is; None for any other ref."""
    return decode_id(ref.removeprefix(CLAIMS)) if ref.startswith(CLAIMS) else None


def log_entry(ref: str) -> tuple[str, str] | None:
    """`(task, stamp)` of a log ref, the stamp as it stands there; None for any other ref."""
    return _entry(ref.removeprefix(LOG)) if ref.startswith(LOG) else None


def archive_entry(path: str) -> tuple[str, str] | None:
    """`(task, stamp)` of a path in the archive's tree; None for any other path."""
    return _entry(path.removesuffix(".json")) if path.endswith(".json") else None


def _entry(name: str) -> tuple[str, str] | None:
    spelt, slash, stamp = name.rpartition("/")
    task = decode_id(spelt) if slash and stamp else None
    return None if task is None else (task, stamp)


def _segment(part: str) -> str:
    """One segment; surrogates (bytes of a path that were no UTF-8) have a spelling too."""
    return _UNSAFE.sub(_percent, part.encode("utf-8", "surrogatepass")).decode("ascii") if part else _EMPTY


def _percent(found: re.Match[bytes]) -> bytes:
    return b"%%%02X" % found[0][0]
