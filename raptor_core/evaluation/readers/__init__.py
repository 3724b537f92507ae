"""Readers that answer from contexts, so that answers can be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.evaluation.answer_scores import score_answer
from raptor_core.evaluation.contexts import Context, Measured
from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.readers.base import AnswerReader, Ask
from raptor_core.evaluation.readers.chat import ChatReader
from raptor_core.evaluation.readers.unifiedqa import UnifiedQa
from raptor_core.tree.cache import NodeCache

__all__ = ["AnswerMeasurer", "AnswerReader", "Ask", "ChatReader", "UnifiedQa", "read_answers"]


@dataclass(frozen=True, eq=False)
class AnswerMeasurer:
    """Measures contexts by what a reader answers from them.

    Attributes:
        dataset: name of the data set, which says how answers are scored.
        reader: who answers.
        log: keeps every answer from the moment it comes, and is asked before the reader.
    """

    dataset: str
    reader: AnswerReader
    log: NodeCache

    def measure(self, questions: Sequence[Question], contexts: Sequence[Context]) -> list[Measured]:
        """See ``Measurer.measure``.

        Raises:
            RaptorError: as the reader raises; the answers that came are kept.
        """
        asks = [Ask(q, context.text) for q, context in zip(questions, contexts, strict=True)]
        answers = read_answers(self.reader, asks, self.log)
        return [
            Measured(score_answer(self.dataset, question, answer), answer)
            for question, answer in zip(questions, answers, strict=True)
        ]


def read_answers(reader: AnswerReader, asks: Sequence[Ask], log: NodeCache) -> list[str]:
    """An answer to each, equal ones once; what the log holds is not asked again.

    Raises:
        RaptorError: as the reader raises; the answers that came are in the log.
    """
    by_key = {ask.key(reader.fingerprint): ask for ask in asks}
    with log:
        known = log.texts(by_key)
        missing = [key for key in by_key if key not in known]
        for at, answer in reader.read([by_key[key] for key in missing]):
            known[missing[at]] = answer
            log.keep_texts({missing[at]: answer})
    return [known[ask.key(reader.fingerprint)] for ask in asks]
