"""The questions that servers of a home are asked, in a file of SQLite (``serving.questions``).

Only the operator, who has the home's files, reads them. What they say of a corpus is in
``raptor_core.evaluation.asked``.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from raptor_core.disk import disk_errors
from raptor_core.errors import StoreError
from raptor_core.evaluation.asked import AskedQuestion
from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings

FILE = "questions.sqlite"
WAIT_SECONDS = 5.0
"""Longest wait for another process that writes to the file."""
DAY_SECONDS = 86_400
_TABLE = """
create table if not exists asked (
    id text primary key, asked real not null, corpus text not null, question text not null,
    caller text not null, n_hits integer not null, note text not null, seconds real not null,
    vote integer not null
)
"""
_SETTINGS = ("pragma auto_vacuum=full", "pragma secure_delete=on", _TABLE)
"""SQLite overwrites deleted rows, and gives free pages back."""


class QuestionLog:
    """Kept questions of one home; threads and processes may share it.

    Each call first deletes the questions that are older than ``days``.
    """

    def __init__(self, home: Path, days: int) -> None:
        self._path = home / FILE
        self._days = days

    @classmethod
    def of(cls, home: Path, settings: Settings) -> QuestionLog:
        """Return the questions of a home; no file is made before one is kept."""
        return cls(home, settings.serving.questions_days)

    def keep(
        self, corpus: str, question: str, caller: str, n_hits: int, note: str, seconds: float
    ) -> str:
        """Keep a question and return its id; passwords in addresses are not kept."""
        text, asked = hide_credentials(question), time.time() - seconds
        row = (uuid.uuid4().hex, asked, corpus, text, caller, n_hits, note, seconds, 0)
        with self._table(make=True) as table:
            table.execute("insert into asked values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return row[0]

    def end(self, answer: str) -> None:
        """Record that the answer to a question is complete now."""
        with self._table() as table:
            table.execute(
                "update asked set seconds = ? - asked where id = ?", (time.time(), answer)
            )

    def vote(self, answer: str, caller: str, vote: int) -> bool:
        """Record a vote of the caller who asked; return whether this caller got the answer."""
        with self._table() as table:
            values = (vote, answer, caller)
            update = "update asked set vote = ? where id = ? and caller = ?"
            return table.execute(update, values).rowcount > 0

    def read(self) -> list[AskedQuestion]:
        """Return all questions, oldest first."""
        with self._table() as table:
            rows = table.execute("select * from asked order by asked, id").fetchall()
        return [
            AskedQuestion(name, datetime.fromtimestamp(asked, UTC).isoformat(), *rest)
            for name, asked, *rest in rows
        ]

    def forget(self, answers: Collection[str] | None = None, caller: str | None = None) -> int:
        """Delete questions by id or caller, all for None; return their number."""
        wanted = [
            (question.id,)
            for question in self.read()
            if (answers is None or question.id in answers)
            and (caller is None or question.caller == caller)
        ]
        with self._table() as table:
            table.executemany("delete from asked where id = ?", wanted)
        return len(wanted)

    @contextmanager
    def _table(self, *, make: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the table for one transaction; nobody but this user may read a new file."""
        if make:
            with disk_errors(self._path):
                self._path.touch(mode=0o600)
        place = self._path if self._path.exists() else ":memory:"
        try:
            with closing(sqlite3.connect(place, timeout=WAIT_SECONDS)) as table:
                for statement in _SETTINGS:
                    table.execute(statement)
                with table:
                    oldest = time.time() - self._days * DAY_SECONDS
                    table.execute("delete from asked where asked < ?", (oldest,))
                    yield table
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: SQLite failed: {error}. Free space, or end the process that holds "
                "the file; if it is damaged, move it away: it holds the kept questions only"
            ) from error
