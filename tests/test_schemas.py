"""The published schemas are what the code says, and are schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gatekeeper import schemas

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("policy.schema.json", "report.schema.json")


@pytest.mark.parametrize("name", NAMES)
def test_the_published_file_is_not_stale(name: str) -> None:
    published = (ROOT / schemas.FOLDER / name).read_text(encoding="utf-8")
    assert published == schemas.files()[name], "run: python -m gatekeeper.schemas"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_schema_of_its_draft(name: str) -> None:
    schema = json.loads(schemas.files()[name])
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_the_module_writes_them(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "er"
    subprocess.run([sys.executable, "-m", "gatekeeper.schemas", target], check=True)
    assert {path.name: path.read_text(encoding="utf-8") for path in target.iterdir()} == schemas.files()
    assert set(schemas.files()) == set(NAMES)


def test_editors_can_check_a_policy_with_it(tmp_path: Path) -> None:
    """check-jsonschema reads YAML 1.2 as editors do."""
    good = tmp_path / "good.yml"
    good.write_text("version: 1\nseverity: {GK134: off}\naudit: {since: 2026-08-14}\n", encoding="utf-8")
    bad = tmp_path / "bad.yml"
    bad.write_text("version: 1\nprotcted: []\n", encoding="utf-8")
    schema = ROOT / schemas.FOLDER / "policy.schema.json"
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", schema]
    assert subprocess.run([*command, good], check=False, capture_output=True).returncode == 0
    assert subprocess.run([*command, bad], check=False, capture_output=True).returncode == 1
