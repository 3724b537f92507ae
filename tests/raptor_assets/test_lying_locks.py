"""A disk that grants every lock, as some network folders do, is refused by all that takes one."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from support import lock_process
from support.stores import PROCESS_PATH, make_tree, open_at, publish

LYING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int file, int operation) { return 0; }

static int locks(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;
}

#define LIES(name)                                                        \\
    int name(int file, int command, ...) {                                \\
        va_list values;                                                   \\
        va_start(values, command);                                        \\
        void *value = va_arg(values, void *);                             \\
        va_end(values);                                                   \\
        int (*honest)(int, int, ...) = dlsym(RTLD_NEXT, #name);           \\
        return locks(command) ? 0 : honest(file, command, value);         \\
    }
LIES(fcntl)
LIES(fcntl64)
"""


@pytest.fixture(scope="module")
def lying(tmp_path_factory):
    """A library before the system's, in which each lock is granted to everybody."""
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed: install gcc or clang"
    folder = tmp_path_factory.mktemp("lying")
    (folder / "lying.c").write_text(LYING)
    library = folder / "lying.so"
    command = [compiler, "-shared", "-fPIC", "-o", library, folder / "lying.c", "-ldl"]
    subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library)}


def outcomes(tmp_path, environment):
    store = tmp_path / "store"
    if not store.exists():
        with open_at(store, "edge") as opened:
            publish(opened, make_tree())
    command = [sys.executable, lock_process.__file__, tmp_path / "home", store]
    environment = {**os.environ, "PYTHONPATH": PROCESS_PATH, **environment}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_a_disk_that_grants_every_lock_is_refused_with_its_remedy(tmp_path, lying):
    assert set(outcomes(tmp_path, {}).values()) == {"taken"}
    for name, message in outcomes(tmp_path, lying).items():
        assert "grants one lock to two holders" in message, name
        assert "choose a folder on a disk of this machine" in message, name
        assert str(tmp_path) in message, name
