"""Which process executes a run, so that a run whose process died is known as dead."""

from __future__ import annotations

import os
import socket

PROCESS_TAG = "raptor/process"
"""Tag of a run: host and process id."""


def process_tags() -> dict[str, str]:
    """The tag of this process."""
    return {PROCESS_TAG: f"{socket.gethostname()}:{os.getpid()}"}


def is_dead(process: str) -> bool:
    """Whether a tagged process is known to have ended; False for another host's."""
    host, _, pid = process.rpartition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
