"""The action's and the workflows' own files: valid, pinned, and clean under zizmor, where the tools are there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
GATE = ROOT / "workflows" / "gate.yml"
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = [GATE, *OURS]
PLACEHOLDER = "OWNER/gatekeeper@COMMIT"
BIN = Path(sys.executable).parent


def tool(name: str) -> str:
    path = BIN / name
    if not path.is_file():
        pytest.skip(f"{name} is not installed")
    return str(path)


@pytest.mark.parametrize(
    ("path", "schema"),
    [*((p, "github-workflows") for p in WORKFLOWS), (ROOT / "action.yml", "github-actions")],
)
def test_files_hold_against_githubs_schemas(path: Path, schema: str) -> None:
    command = [tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def audit(path: Path) -> str:
    command = [
        tool("zizmor"),
        "--offline",
        "--no-progress",
        "--persona",
        "auditor",
        "--format",
        "plain",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


@pytest.mark.parametrize("path", [*OURS, ROOT / "action.yml"])
def test_zizmor_finds_nothing(path: Path) -> None:
    assert audit(path) == ""


def test_zizmor_finds_nothing_in_the_gate_but_the_commit_that_is_to_be_filled_in(tmp_path: Path) -> None:
    copy = tmp_path / "gate.yml"
    copy.write_text(GATE.read_text().replace(PLACEHOLDER, "octo/gatekeeper@" + "1" * 40))
    assert audit(copy) == ""
    assert "unpinned-uses" in audit(GATE)


def used() -> list[tuple[Path, str, str]]:
    return [
        (path, found[1], found[2])
        for path in WORKFLOWS
        for found in re.finditer(r"^\s*(?:- )?uses: (\S+)(.*)$", path.read_text(), re.MULTILINE)
    ]


@pytest.mark.parametrize(("path", "action", "comment"), used())
def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it(
    path: Path, action: str, comment: str
) -> None:
    if action == PLACEHOLDER:
        assert path == GATE
        return
    assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)
    assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment)


def test_the_gate_reads_no_code_and_writes_nothing() -> None:
    gate = yaml.safe_load(GATE.read_text())
    triggers = gate[True]  # YAML 1.1 reads `on` as a boolean
    assert triggers["pull_request_target"]["types"] == [
        "opened",
        "synchronize",
        "reopened",
        "edited",
        "ready_for_review",
    ]
    assert "merge_group" in triggers
    assert gate["permissions"] == {}
    (job,) = gate["jobs"].values()
    assert set(job["permissions"].values()) == {"read"}
    assert not {"if", "strategy"} & job.keys()
    assert [step["uses"] for step in job["steps"]] == [PLACEHOLDER]
    assert not any("run" in step or "checkout" in str(step) for step in job["steps"])


def test_the_gate_names_no_input_that_the_action_has_not() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (job,) = yaml.safe_load(GATE.read_text())["jobs"].values()
    assert job["steps"][0]["with"].keys() <= action["inputs"].keys()
    assert set(action["outputs"]) == {"verdict", "lane", "task-id", "agent", "report"}
    assert action["runs"] == {"using": "docker", "image": "Dockerfile"}


def test_the_action_reads_every_input_that_it_names() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    text = (ROOT / "src" / "gatekeeper" / "action" / "inputs.py").read_text()
    assert {name for name in action["inputs"] if f'"{name}"' not in text} == set()


def test_the_image_is_what_the_runner_needs() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^ARG BASE=python:[\d.]+-slim-trixie(@sha256:[0-9a-f]{64})?$", text, re.MULTILINE)
    instructions = re.findall(r"^([A-Z]+)\b", text, re.MULTILINE)
    assert "USER" not in instructions
    assert text.rstrip().endswith('ENTRYPOINT ["gatekeeper", "action"]')
    assert "HEALTHCHECK NONE" in text


def locked(name: str) -> dict[str, str]:
    text = (ROOT / "container" / name).read_text()
    assert re.search(r"https?:|file:", text) is None
    return dict(re.findall(r"^([\w.-]+)==(\S+) \\\n {4}--hash=sha256:[0-9a-f]{64}", text, re.MULTILINE))


def test_the_image_has_a_locked_version_of_everything_that_is_needed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for name, wanted in (
        ("run.txt", project["project"]["dependencies"]),
        ("build.txt", project["build-system"]["requires"]),
    ):
        found = locked(name)
        for line in wanted:
            requirement = Requirement(line)
            assert requirement.specifier.contains(found[requirement.name.lower()]), line
