"""Agents that die at random git calls, from a fixed seed; `make chaos` plays long ones from many seeds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLAYER = Path(__file__).resolve().parent / "chaos" / "run.py"


def test_whatever_step_a_process_dies_at_the_next_command_sees_one_truth() -> None:
    # A process of its own: it forks, and a test run has threads.
    command = [sys.executable, str(PLAYER), "--seed", "1", "--steps", "24"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("holds") == 2
    assert " 0 killed" not in done.stdout
