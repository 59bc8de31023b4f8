"""A private temporary folder, made and removed.

What `tempfile` and `shutil` do, without importing them: with what they bring along (random,
hashes, compression) they take a twentieth of the time of a whole check.
"""

from __future__ import annotations

import atexit
import os
import time
from contextlib import suppress
from pathlib import Path

_TRIES, _MOMENT = 40, 0.05  # times, and seconds in between, that what is left is removed at the end
_MADE: set[Path] = set()


def make_folder() -> Path:
    """A new folder for this user alone, below TMPDIR or /tmp. Raises OSError where there can be none."""
    above = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 -- the folder itself is new, private and unguessable
    path = Path(above).absolute() / f"gatekeeper-{os.urandom(8).hex()}"
    path.mkdir(mode=0o700)
    if not _MADE:
        atexit.register(_remove_all)
    _MADE.add(path)
    return path


def _remove_all() -> None:
    """Remove what is left when the command is left early, by a signal or by an error.

    What a git that was ended had started itself may go on writing for a moment.
    """
    for _ in range(_TRIES):
        for path in list(_MADE):
            remove_folder(path)
        if not _MADE:
            return
        time.sleep(_MOMENT)


def remove_folder(path: Path) -> None:
    """Remove a folder and all below it, following no link. What can't be removed is left."""
    with suppress(OSError):
        _empty(os.fspath(path))
        path.rmdir()
        _MADE.discard(path)


def _empty(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)  # noqa: PTH101 -- git writes some folders without write permission
                _empty(entry.path)
                os.rmdir(entry.path)  # noqa: PTH106
            else:
                os.unlink(entry.path)  # noqa: PTH108
