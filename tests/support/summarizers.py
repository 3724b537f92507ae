"""Stand-in summarizers: what a model endpoint may do, on demand."""

from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import FailedSummary, Summary

UNCLOSED = "It was told of a river, " + ", ".join(f"of bridge {n} over it" for n in range(60))
"""Summary that a model wrote to its token limit: only the check of layers sees that it is cut."""


class ScriptedSummarizer:
    """The first five words of each child as a sentence.

    A request whose text holds ``failing`` fails; one that holds ``junk`` is answered with a
    refusal, as a model would write it; one that holds ``unclosed`` with ``UNCLOSED``. ``n_made``
    counts answers.
    """

    fingerprint = fingerprint("scripted", {})

    def __init__(self, failing="\0", junk="\0", unclosed="\0"):
        self.failing = failing
        self.junk = junk
        self.unclosed = unclosed
        self.n_made = 0

    def summarize(self, requests):
        for request in requests:
            joined = " ".join(request.texts).casefold()
            if self.failing in joined:
                yield FailedSummary(request.key, request.name, "the endpoint refused it")
                continue
            self.n_made += 1
            if self.junk in joined:
                yield Summary(request.key, "I'm sorry, but I can't help with that request.")
            elif self.unclosed in joined:
                yield Summary(request.key, UNCLOSED)
            else:
                parts = [" ".join(text.split()[:5]).strip(".") for text in request.texts]
                yield Summary(request.key, ". ".join(parts).capitalize() + ".")
