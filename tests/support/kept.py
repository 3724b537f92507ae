"""Everything that a folder keeps, as bytes that can be searched."""

import sqlite3
from contextlib import closing

from raptor_assets.project.event_text import unpack

EVENTS = (
    "SELECT event FROM event_logs UNION ALL SELECT evaluation_event FROM asset_check_executions"
)


def kept_bytes(root):
    """Bytes of each file by path; those of Dagster's events, which are kept packed, besides."""
    found = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for index in root.rglob("event_log.db"):
        with closing(sqlite3.connect(index)) as opened:
            texts = [unpack(row[0]).encode() for row in opened.execute(EVENTS)]
        found[index] += b"".join(texts)
    return found
