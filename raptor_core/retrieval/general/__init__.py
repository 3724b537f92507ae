"""General questions, whose context must cover a whole text.

``kinds`` decides whether a question is general, ``terms`` reads the terms of the searched nodes,
and ``coverage`` chooses nodes of all layers. Questions about details are answered in ``hybrid``.
Read ``kinds`` next.
"""

from raptor_core.retrieval.general.coverage import retrieve_coverage
from raptor_core.retrieval.general.kinds import QuestionDecision, decide_question_kind

__all__ = ["QuestionDecision", "decide_question_kind", "retrieve_coverage"]
