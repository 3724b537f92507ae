"""General questions: which questions they are, and a context that covers the whole text.

``kinds`` decides between a detail and the whole text, ``terms`` reads what the searched text
consists of, and ``coverage`` chooses nodes of all layers. Details are the work of ``hybrid``. Read
``kinds`` next.
"""

from raptor_core.retrieval.general.coverage import cover
from raptor_core.retrieval.general.kinds import QuestionDecision, decide

__all__ = ["QuestionDecision", "cover", "decide"]
