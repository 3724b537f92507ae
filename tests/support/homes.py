"""Homes that are built once, and put back or copied for each test that changes one."""

import os
import shutil
from pathlib import Path

from filelock import FileLock

BLOCK_BYTES = 1 << 16


def built_once(tmp_path_factory, name, make):
    """Return a folder that ``make`` fills once for all workers; tests work on copies."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"built-{name}"
    with FileLock(f"{root}.lock"):
        if not root.exists():
            part = root.with_name(f"part-{name}")
            make(part)
            part.rename(root)  # a copy that names the folder of its origin fails
    return root


def copy_home(source, target):
    """Copy a folder without its zeros: an engine's files are 150 MB that hold hardly anything."""
    shutil.copytree(source, target, copy_function=_copy_sparsely, dirs_exist_ok=True)


def put_back(root, copy):
    """Make a folder what its copy is."""
    shutil.rmtree(root)
    copy_home(copy, root)


def _copy_sparsely(source, target):
    zeros = bytes(BLOCK_BYTES)
    with Path(source).open("rb") as read, Path(target).open("wb") as written:
        while block := read.read(BLOCK_BYTES):
            if zeros.startswith(block):
                written.seek(len(block), 1)
            else:
                written.write(block)
        written.truncate()
    shutil.copystat(source, target)


def kept_bytes(root):
    """Return the bytes of each file under a folder, by path."""
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
