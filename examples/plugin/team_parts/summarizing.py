"""A summarizer: the first sentence of each child."""

from collections.abc import Iterator, Sequence

from raptor_core import FailedSummary, Settings, Summary, SummaryRequest


class FirstSentences:
    """Summarizer that quotes the first sentence of each child."""

    fingerprint = "first-sentences-1"
    quotes = True

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one summary for each request."""
        for request in requests:
            firsts = [text.partition(". ")[0].rstrip(".") + "." for text in request.texts]
            yield Summary(request.key, " ".join(firsts))
