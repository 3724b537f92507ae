"""Kernels on a machine where numba can write to no cache folder, as in a container."""

import os
import shutil
import subprocess
import sys

import pytest

from raptor_core.clustering import compiled


@pytest.mark.slow
@pytest.mark.rare
def test_kernels_compile_where_numba_may_write_to_no_folder(tmp_path):
    shutil.copy(compiled.__file__, tmp_path / "kernels.py")
    (tmp_path / "__pycache__").touch()  # no folder, so that root cannot write there either
    lent = tmp_path / "lent"
    lent.mkdir()
    code = "import kernels, numpy; print(kernels.next_random(numpy.zeros(1, numpy.uint64)))"
    environment = {"PATH": os.environ["PATH"], "HOME": os.devnull, "TMPDIR": str(lent)}
    run = subprocess.run(
        (sys.executable, "-c", code),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "16294208416658607535\n"  # splitmix64's first number for 0
    assert run.stderr.count("set NUMBA_CACHE_DIR to a folder") == 1
    assert list(lent.iterdir()) == []
