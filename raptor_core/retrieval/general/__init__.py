"""General questions, whose context must cover a whole text.

``kinds`` decides whether a question is general, ``terms`` reads the terms of the searched nodes,
and ``coverage`` chooses nodes of all layers. Questions about details are answered in ``hybrid``.
Read ``kinds`` next.
"""

from raptor_core.retrieval.general.coverage import cover
from raptor_core.retrieval.general.kinds import QuestionDecision, decide

__all__ = ["QuestionDecision", "cover", "decide"]
