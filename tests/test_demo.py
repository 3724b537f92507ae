"""The demo of the README builds the handbook and answers its questions."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_demo_builds_trees_and_answers_three_kinds_of_questions(tmp_path):
    done = subprocess.run(
        [sys.executable, "examples/demo.py", "--home", tmp_path / "home"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\nfailed: " not in done.stdout
    assert done.stdout.count("\ntree ") >= 2
    asked = [line for line in done.stdout.splitlines() if " question: " in line]
    assert [line.partition(" ")[0] for line in asked] == ["detail", "general", "general"]
    assert "fuel" in done.stdout.partition(asked[0])[2].partition(asked[1])[0]
