"""What holds for every test: nothing of the user, of their git settings or of a CI job is seen.

Standing here, this file also makes `builders` importable from every folder of tests.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIEN = ("GIT_", "GITHUB_", "GATEKEEPER_", "INPUT_", "RUNNER_", "SSH_AUTH_SOCK")


@pytest.fixture(scope="session", autouse=True)
def _alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An environment of our own, with an empty home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(ALIEN) or name == "CI"]:
            patch.delenv(name)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


NEEDS_SSH = ("test_ssh.py", "[GK120]", "test_signed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is no OpenSSH nothing can be signed: skip what needs it, and say so."""
    if shutil.which("ssh-keygen"):
        return
    missing = pytest.mark.skip(reason="needs ssh-keygen (Debian: apt install openssh-client)")
    for item in items:
        if any(part in item.nodeid for part in NEEDS_SSH):
            item.add_marker(missing)
