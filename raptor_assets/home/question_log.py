"""Questions that the servers of a home were asked, in a SQLite file (``serving.questions``).

Only the operator, who has the home's files, reads them. What they say of a corpus is in
``raptor_core.evaluation.asked``.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from raptor_core.disk import translate_disk_errors
from raptor_core.errors import StoreError
from raptor_core.evaluation.asked import AskedQuestion
from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings

FILE = "questions.sqlite"
WAIT_SECONDS = 5.0
"""Longest time to wait for another process that writes to the file."""
DAY_SECONDS = 86_400
_OPEN = """
pragma auto_vacuum=full;
pragma secure_delete=on;
create table if not exists asked (
    id text primary key, asked real, corpus text, question text, caller text, n_hits integer,
    note text, seconds real, vote integer
);
"""
"""Deleted rows are overwritten, and free pages given back."""


class QuestionLog:
    """Kept questions of one home; threads and processes may share it.

    Each call first deletes the questions that are older than ``serving.questions_days``. The file
    is created with the first question.
    """

    def __init__(self, home: Path, settings: Settings) -> None:
        self._path = home / FILE
        self._seconds = settings.serving.questions_days * DAY_SECONDS

    def add_question(
        self, corpus: str, question: str, caller: str, n_hits: int, note: str, seconds: float
    ) -> str:
        """Keep a question and return its id; passwords in addresses are not kept."""
        name, asked, text = uuid.uuid4().hex, time.time() - seconds, hide_credentials(question)
        with translate_disk_errors(self._path):
            self._path.touch(mode=0o600)  # nobody but this user may read it
        values = (name, asked, corpus, text, caller, n_hits, note, seconds)
        self._execute("insert into asked values (?, ?, ?, ?, ?, ?, ?, ?, 0)", *values)
        return name

    def record_end_of_answer(self, answer: str) -> None:
        """Record that the answer to a question is complete now."""
        self._execute("update asked set seconds = ? - asked where id = ?", time.time(), answer)

    def record_vote(self, answer: str, caller: str, vote: int) -> bool:
        """Record a vote of the caller who asked; return whether this caller got the answer."""
        update = "update asked set vote = ? where id = ? and caller = ?"
        return bool(self._execute(update, vote, answer, caller))

    def read_questions(self) -> list[AskedQuestion]:
        """Return all questions, oldest first."""
        return [
            AskedQuestion(name, datetime.fromtimestamp(asked, UTC).isoformat(), *rest)
            for name, asked, *rest in self._execute("select * from asked order by asked, id")
        ]

    def delete_questions(self, answers: Sequence[str] = (), caller: str = "") -> int:
        """Delete questions by id or caller, or all if neither is given; return their number."""
        marks = ", ".join("?" * len(answers))
        chosen = f"where id in ({marks}) or caller = ?" if answers or caller else ""
        values = (*answers, caller or None) if chosen else ()
        return len(self._execute(f"delete from asked {chosen}", *values))  # noqa: S608 - marks

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement in a transaction; return the rows, or one for each changed row."""
        if not self._path.exists():
            return []
        try:
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as table:
                table.executescript(_OPEN)
                oldest = time.time() - self._seconds
                with table:
                    table.execute("delete from asked where asked < ?", (oldest,))
                    done = table.execute(statement, values)
                    return done.fetchall() if done.description else [()] * done.rowcount
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: SQLite failed: {error}. Free space, or end the process that holds "
                "the file; if it is damaged, move it away: it holds the kept questions only"
            ) from error
