"""Reader that calls no model: it answers with all that it was given, and cites it."""

from collections.abc import Sequence

from raptor_core.models.reading.reader import Answer, Passage


class EchoReader:
    """Answers with the texts of all passages."""

    def __init__(self, _settings: object = None) -> None:
        """Need no settings."""

    def read(self, question: str, passages: Sequence[Passage]) -> Answer:
        cited = (f"{passage.text} [{number}]" for number, passage in enumerate(passages, 1))
        return Answer(f"{question}\n" + "\n".join(cited), tuple(passages))
