"""What a command loads: where nothing is to be done, neither Dagster nor a model."""

import subprocess
import sys

import pytest
from test_architecture import HEAVY

NEEDED = {"pyarrow", "qdrant_edge"}
"""The look at the source is kept in a table, and what is published in the store."""

ALONE = """
import sys
from raptor_assets.cli import main
for command in ("plan", "tree soup.md", "status", "status --cost"):
    try:
        main([*command.split(), "--home", sys.argv[2]])
    except SystemExit as end:
        assert not end.code, end.code
    print(*sorted(set(sys.argv[1].split()) & sys.modules.keys()), file=sys.stderr)
"""


@pytest.mark.slow
def test_an_answer_without_work_loads_neither_dagster_nor_a_model(built):
    heavy = " ".join((HEAVY | {"dagster", "sqlalchemy"}) - NEEDED)
    finished = subprocess.run(
        [sys.executable, "-c", ALONE, heavy, built.home],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout
    assert finished.stderr.split() == []
