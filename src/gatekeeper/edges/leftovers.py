"""Lock files that a git left behind which was killed while it moved claim refs.

Git holds `<ref>.lock` for milliseconds, and never takes away another's: a file that is left keeps
every later claim of that task, or of that lock, from being made in this clone.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OLD = 600.0
"""Seconds after which no git that still runs can have such a file."""


def left_behind(common_dir: Path) -> list[Path]:
    """The lock files under the clone's claim refs, and of what holds all its refs, that are older than `OLD`.

    Where refs are kept in tables (`extensions.refStorage=reftable`), one lock is that of every ref.
    """
    found = [common_dir / "packed-refs.lock", *(common_dir / "reftable").glob("*.lock")]
    for folder, _, names in os.walk(common_dir / "refs" / "swarm"):
        found += [common_dir.joinpath(folder, name) for name in names if name.endswith(".lock")]
    return sorted(path for path in found if _old(path))


def _old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > OLD
    except OSError:  # not there, or gone by now
        return False
