"""A judge by natural-language inference: does a child entail the sentence?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import Audited, Judgement, SentenceFinding, Text, sentence_texts
from raptor_core.audit.terms import content_words, terms, word_forms, words
from raptor_core.errors import ModelError
from raptor_core.identity import digest

MIN_ENTAILMENT = 0.5
MAX_PREMISES = 8
"""Children read for one sentence, those that hold most of its words; a pair is a model call."""


class NliJudge:
    """A sentence is supported when a child entails it with a probability of 0.5 or more.

    Any cross-encoder of sentence-transformers that was trained for inference and names its labels
    "entailment" and, perhaps, "contradiction". The score is the highest probability of
    entailment by one child, so a sentence that fuses several children may be found wanting.
    """

    name = "nli"

    def __init__(self, model: str) -> None:
        """``model`` is a hub name or a local folder."""
        self._model = model
        self.version = f"1-{digest('nli', model)[:12]}"

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``.

        Raises:
            ModelError: the model cannot be loaded, or is none for inference.
        """
        asked = [
            (number, sentence, _premises(sentence, item.children))
            for number, item in enumerate(summaries)
            for sentence in sentence_texts(item.node.text)
        ]
        pairs = [(child.text, sentence) for _, sentence, premises in asked for child in premises]
        told = self._probabilities(pairs)
        findings: list[list[SentenceFinding]] = [[] for _ in summaries]
        for number, sentence, premises in asked:
            rows, told = told[: len(premises)], told[len(premises) :]
            node_id = summaries[number].node.id
            findings[number].append(_finding(node_id, sentence, premises, rows))
        return findings

    def _probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Of entailment and of contradiction, shape (pairs, 2)."""
        if not pairs:
            return np.zeros((0, 2))
        encoder, entails, contradicts = self._encoder
        told = encoder.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        told = np.asarray(told, dtype=float)
        against = told[:, contradicts] if contradicts is not None else np.zeros(len(told))
        return np.stack([told[:, entails], against], axis=1)

    @cached_property
    def _encoder(self) -> tuple[Any, int, int | None]:
        """The model, and the columns of its two labels."""
        from sentence_transformers import CrossEncoder

        from raptor_core.models.embedding.local_models import loading

        instead = ', or set audit.judge = "support"'
        with loading(self._model, "inference model", "audit.model", instead):
            encoder = CrossEncoder(self._model)
        labels = {int(at): str(name).casefold() for at, name in encoder.config.id2label.items()}
        entails = [at for at, name in labels.items() if name.startswith("entail")]
        contradicts = [at for at, name in labels.items() if name.startswith("contradict")]
        if not entails:
            raise ModelError(
                f"audit.model = {self._model!r} is no model for inference: it knows the labels "
                f"{', '.join(labels.values())}, expected 'entailment' among them"
            )
        return encoder, entails[0], contradicts[0] if contradicts else None


def _finding(
    node_id: str, sentence: str, premises: Sequence[Text], told: NDArray[np.float64]
) -> SentenceFinding:
    if not premises:
        return SentenceFinding(node_id, sentence, "unsupported", 0.0, reason="no child")
    judgement: Judgement = "supported"
    best, against = map(int, told.argmax(axis=0))
    score, reason = float(told[best, 0]), ""
    if score < MIN_ENTAILMENT:
        judgement, reason = "unsupported", "no child entails it"
        if told[against, 1] >= MIN_ENTAILMENT:
            best, reason = against, "a child contradicts it"
    child = premises[best]
    return SentenceFinding(node_id, sentence, judgement, score, (), child.id, child.text, reason)


def _premises(sentence: str, children: Sequence[Text]) -> list[Text]:
    """The children that hold most of the sentence's content words, best first."""
    wanted = [word_forms(word) for word in content_words(words(sentence))]
    counts = [
        sum(held.supports(forms) for forms in wanted)
        for held in (terms(child.text) for child in children)
    ]
    order = sorted(range(len(children)), key=lambda at: (-counts[at], at))
    return [children[at] for at in order[:MAX_PREMISES]]
