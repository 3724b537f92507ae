"""A code location for workers: quick tools, and a summarizer that waits for other processes.

The folder ``MEETING`` is where they meet: each writes a file of its name before its first summary,
and goes on when there are as many as ``ATTENDANCE`` says. A text that holds a word of the file
``hold`` waits until that file is gone.
"""

import os
import time
from pathlib import Path

from support.hashing import HashingEmbedder
from support.summarizers import ScriptedSummarizer

from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.local.code_location import build_definitions
from raptor_core.tree.components import Components

PATIENCE_SECONDS = 120


class MeetingSummarizer(ScriptedSummarizer):
    """Waits for others, and for the word that is held."""

    def __init__(self, meeting):
        super().__init__()
        self.meeting = meeting

    def summarize(self, requests):
        (self.meeting / f"at-{os.getpid()}").touch()
        wait_until(lambda: len(list(self.meeting.glob("at-*"))) >= int(os.environ["ATTENDANCE"]))
        hold = self.meeting / "hold"
        texts = " ".join(text for request in requests for text in request.texts).casefold()
        if hold.exists() and hold.read_text() in texts:
            (self.meeting / f"held-{os.getpid()}").touch()
            wait_until(lambda: not hold.exists())
        yield from super().summarize(requests)


def wait_until(reached):
    last = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < last, "the others did not come"
        time.sleep(0.05)


home = Home.at()
settings = home.load_settings()
components = Components(
    settings,
    embedder=HashingEmbedder(),
    summarizer=MeetingSummarizer(Path(os.environ["MEETING"])),
)
defs = build_definitions(settings, home, access=CorpusAccess(settings, home, components=components))
