"""Judge by natural-language inference: a sentence is supported if a child entails it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import AuditedSummary, Judgement, SentenceFinding, Text, sentence_texts
from raptor_core.audit.terms import content_words, terms, word_forms, words
from raptor_core.errors import ModelError
from raptor_core.identity import digest

MIN_ENTAILMENT = 0.5
MAX_PREMISES = 8
"""Maximum of children read for one sentence, most shared words first; a pair is a model call."""


class NliJudge:
    """Judge that supports a sentence if a child entails it with a probability of 0.5 or more.

    The model is any cross-encoder of sentence-transformers that was trained for inference and
    labels "entailment" and, optionally, "contradiction". The score is the highest probability of
    entailment by one child, so a sentence that combines several children may count as unsupported.
    """

    name = "nli"

    def __init__(self, model: str) -> None:
        self._model = model
        self.version = f"1-{digest('nli', model)[:12]}"

    def judge(self, summaries: Sequence[AuditedSummary]) -> list[list[SentenceFinding]]:
        """Return the findings on each summary, or raise ModelError for an unusable model."""
        questions = [
            (number, sentence, _premises(sentence, item.children))
            for number, item in enumerate(summaries)
            for sentence in sentence_texts(item.node.text)
        ]
        pairs = [(child.text, text) for _, text, premises in questions for child in premises]
        probabilities = self._probabilities(pairs)
        findings: list[list[SentenceFinding]] = [[] for _ in summaries]
        for number, sentence, premises in questions:
            rows, probabilities = probabilities[: len(premises)], probabilities[len(premises) :]
            findings[number].append(_finding(summaries[number].node.id, sentence, premises, rows))
        return findings

    def _probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the probabilities of entailment and of contradiction, shape ``(n_pairs, 2)``."""
        if not pairs:
            return np.zeros((0, 2))
        encoder, entails, contradicts = self._encoder
        scores = encoder.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        scores = np.asarray(scores, dtype=float)
        against = scores[:, contradicts] if contradicts is not None else np.zeros(len(scores))
        return np.stack([scores[:, entails], against], axis=1)

    @cached_property
    def _encoder(self) -> tuple[Any, int, int | None]:
        """Model, and the columns of its two labels."""
        from sentence_transformers import CrossEncoder

        from raptor_core.models.embedding.local_models import loading

        remedy = ', or set audit.judge = "support"'
        with loading(self._model, "inference model", "audit.model", remedy):
            encoder = CrossEncoder(self._model)
        labels = {int(at): str(name).casefold() for at, name in encoder.config.id2label.items()}
        entails = [at for at, name in labels.items() if name.startswith("entail")]
        contradicts = [at for at, name in labels.items() if name.startswith("contradict")]
        if not entails:
            raise ModelError(
                f"audit.model = {self._model!r} is not an inference model: it has the labels "
                f"{', '.join(labels.values())}, expected 'entailment' among them"
            )
        return encoder, entails[0], contradicts[0] if contradicts else None


def _finding(
    node_id: str, sentence: str, premises: Sequence[Text], probabilities: NDArray[np.float64]
) -> SentenceFinding:
    if not premises:
        return SentenceFinding(node_id, sentence, "unsupported", 0.0, reason="no child")
    judgement: Judgement = "supported"
    best, against = map(int, probabilities.argmax(axis=0))
    score, reason = float(probabilities[best, 0]), ""
    if score < MIN_ENTAILMENT:
        judgement, reason = "unsupported", "no child entails it"
        if probabilities[against, 1] >= MIN_ENTAILMENT:
            best, reason = against, "a child contradicts it"
    child = premises[best]
    return SentenceFinding(node_id, sentence, judgement, score, (), child.id, child.text, reason)


def _premises(sentence: str, children: Sequence[Text]) -> list[Text]:
    """Return the children that hold most of the sentence's content words, best first."""
    needs = [word_forms(word) for word in content_words(words(sentence))]
    counts = [
        sum(child.supports(forms) for forms in needs)
        for child in (terms(child.text) for child in children)
    ]
    order = sorted(range(len(children)), key=lambda at: (-counts[at], at))
    return [children[at] for at in order[:MAX_PREMISES]]
