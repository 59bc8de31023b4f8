"""The claim protocol's model: spin proves what it says, and refutes what is broken on purpose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[1] / "docs" / "model"
CHECK = MODEL / "check.sh"
TOOLS = ("spin", "gcc", "xargs")


def check(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Run the check with its work in `folder`."""
    env = {"PATH": path, "TMPDIR": str(folder), "LC_ALL": "C"}
    return subprocess.run(
        ["/bin/sh", str(CHECK), str(folder / "model")], env=env, capture_output=True, text=True, check=False
    )


def asked() -> set[str]:
    """The properties that the model asks, by name."""
    text = (MODEL / "claims.pml").read_text()
    return set(re.findall(r"ASK\(([A-Z]+),", text)) | set(re.findall(r"^ltl (\w+)", text, re.MULTILINE))


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS),
    reason=f"needs {', '.join(TOOLS)} (apt install spin gcc)",
)
@pytest.mark.timeout(600)
def test_holds_and_can_fail(tmp_path: Path) -> None:
    done = check(tmp_path, os.environ["PATH"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search("FAILS|PASSES", done.stdout)
    properties = done.stdout.partition("Properties:\n")[2]
    assert {line.split()[0].lower() for line in properties.splitlines()} == {name.lower() for name in asked()}
    assert all(int(found) > 1000 for found in re.findall(r"(\d+) states", done.stdout)), "none is vacuous"
    broken = re.findall(
        r"^#(?:ifdef|if defined|elif defined)\W+(BROKEN_\w+)",
        (MODEL / "claims.pml").read_text(),
        re.MULTILINE,
    )
    assert done.stdout.count("  refuted  ") >= len({*broken}) >= 10


def test_says_what_is_missing(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "dirname"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    done = check(tmp_path, str(tools))
    assert done.returncode == 2
    assert "missing: spin gcc" in done.stderr
    assert not (tmp_path / "model").exists()


def test_the_readme_tells_of_every_property_and_switch() -> None:
    readme = (MODEL / "README.md").read_text()
    switches = set(re.findall(r"\bBROKEN_[A-Z]+", (MODEL / "claims.pml").read_text()))
    told = readme.lower()
    assert [name for name in sorted(asked() | switches) if f"`{name.lower()}`" not in told] == []
