"""Reading Parquet starts no thread: one that starts while the process ends aborts it."""

import subprocess
import sys

import pytest
from support.stores import PROCESS_PATH

CALLS = {
    "an export": (
        "from raptor_core.transfer.build_file import decode_build; decode_build(data, 'here')"
    ),
    "a source": (
        "from raptor_core.documents.parsing.records import read_parquet;"
        "from raptor_core.documents.parsing.names import TableOrigin;"
        "from raptor_core.settings import SourceSettings;"
        "list(read_parquet(data, TableOrigin('a.parquet', 'here', {}), SourceSettings()))"
    ),
}

CODE = """
import os, sys
import numpy, pyarrow, pyarrow.compute, pyarrow.parquet
data = open(sys.argv[1], "rb").read()
n_threads = len(os.listdir("/proc/self/task"))
CALL
print(len(os.listdir("/proc/self/task")) - n_threads)
"""


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.parametrize("reader", CALLS)
def test_reading_parquet_starts_no_thread(one, reader):
    _, folder, export = one
    code = CODE.replace("CALL", CALLS[reader])
    done = subprocess.run(
        [sys.executable, "-c", code, folder.path(export.trees[0].name)],
        env={"PYTHONPATH": PROCESS_PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "0\n", done.stderr
