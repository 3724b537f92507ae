"""What a reader answers from two contexts for the same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from raptor_core.evaluation.answer_scores import answer_f1
from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.readers import AnswerReader, Ask, read_answers
from raptor_core.tree.cache import NodeCache


@dataclass(frozen=True, slots=True)
class PairedAnswers:
    """Answers to the questions whose two contexts differ.

    Attributes:
        n_asked: such questions.
        n_same: those with the same answer from both, but for articles, case and punctuation.
        f1_first, f1_second: mean F1 of words with the reference answers, where there are any.
    """

    n_asked: int
    n_same: int
    f1_first: float | None
    f1_second: float | None


def read_pairs(
    pairs: Sequence[tuple[Question, str, str]], reader: AnswerReader, log: NodeCache
) -> PairedAnswers:
    """Read each question's two contexts; equal ones are not read.

    Raises:
        RaptorError: as the reader raises; the answers that came are in the log.
    """
    asked = [pair for pair in pairs if pair[1] != pair[2]]
    first = read_answers(reader, [Ask(question, context) for question, context, _ in asked], log)
    second = read_answers(reader, [Ask(question, context) for question, _, context in asked], log)
    return PairedAnswers(
        n_asked=len(asked),
        n_same=sum(answer_f1(a, b) == 1 for a, b in zip(first, second, strict=True)),
        f1_first=_f1([question for question, *_ in asked], first),
        f1_second=_f1([question for question, *_ in asked], second),
    )


def _f1(questions: Sequence[Question], answers: Sequence[str]) -> float | None:
    scores = [
        max(answer_f1(answer, gold) for gold in question.answers)
        for question, answer in zip(questions, answers, strict=True)
        if question.answers
    ]
    return mean(scores) if scores else None
