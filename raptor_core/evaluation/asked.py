"""Questions that people asked a server: which were not answered, and which are alike.

Servers keep them in ``raptor_assets.home.question_log``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from raptor_core.checks.base import CheckInfo, CheckMeasurement, CheckResult, format_percent
from raptor_core.models.embedding.base import Embedder
from raptor_core.retrieval.questions import NOTE
from raptor_core.settings import CheckSettings

ALIKE = 0.75
"""Minimum cosine similarity of two questions in one group."""

UNANSWERED_SHARE = CheckInfo(
    "unanswered_share",
    "warn",
    "Whether searches find something for most of the questions that servers kept.",
)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """Question that a server was asked.

    Attributes:
        id: id of the answer, by which people vote on it.
        asked_at: ISO 8601 time in UTC.
        corpus: corpus that was searched.
        caller: name of the caller's key, or subject of the token; "" for a server without names.
        n_hits: number of nodes that the search returned.
        note: note of the search, or its reason for returning nothing.
        seconds: time until the search ended, or the whole answer of a model.
        vote: 1 for a good answer, -1 for a bad one, 0 without a vote.
    """

    id: str
    asked_at: str
    corpus: str
    question: str
    caller: str
    n_hits: int
    note: str
    seconds: float
    vote: int = 0

    @property
    def is_unanswered(self) -> bool:
        """Whether nothing was found, or only what is as near as chance."""
        return not self.n_hits or NOTE in self.note


def check_unanswered_share(asked: Sequence[AskedQuestion], checks: CheckSettings) -> CheckResult:
    """Check the share of unanswered questions against its bound; no question's text is shown."""
    n_unanswered = sum(question.is_unanswered for question in asked)
    share = n_unanswered / max(1, len(asked))
    numbers = {
        "questions": len(asked),
        "unanswered_share": share,
        "votes_down": sum(question.vote < 0 for question in asked),
        "votes_up": sum(question.vote > 0 for question in asked),
        "mean_seconds": mean([question.seconds for question in asked] or [0.0]),
    }
    summary = (
        f"Nothing near was found for {n_unanswered} of {len(asked)} kept questions, "
        f"{format_percent(share)} (at most {format_percent(checks.max_unanswered)})."
    )
    remedy = "`raptor questions` lists them; add documents that answer them, or look at the source."
    passed = share <= checks.max_unanswered
    measured = CheckMeasurement(passed, summary, numbers, remedy=remedy)
    return UNANSWERED_SHARE.make_result(measured)


def group_similar_questions(
    asked: Sequence[AskedQuestion], embedder: Embedder
) -> list[tuple[AskedQuestion, ...]]:
    """Group questions whose vectors are near that of a group's first; the largest group first."""
    texts = list(dict.fromkeys(question.question for question in asked))
    vectors = embedder.embed_queries(texts) if texts else ()
    leads: dict[int, list[str]] = {}
    for row, text in enumerate(texts):
        cosines = {lead: float(vectors[lead] @ vectors[row]) for lead in leads}
        nearest = max(cosines, key=cosines.__getitem__, default=row)
        lead = nearest if cosines.get(nearest, 0.0) >= ALIKE else row
        leads.setdefault(lead, []).append(text)
    groups = [tuple(q for q in asked if q.question in set(of)) for of in leads.values()]
    return sorted(groups, key=lambda group: -len(group))
