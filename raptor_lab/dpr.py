"""Dense passage retrieval (DPR) over the chunks, or over the whole tree.

Karpukhin et al. 2020, arXiv:2004.04906. The RAPTOR paper compares with it in Tables 1 to 4, 12, 13,
18 and 19.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval import Query
from raptor_core.vectors import Vectors
from raptor_lab.baselines import find_matching_rows, retrieve_best_nodes
from raptor_lab.comparison.contexts import Context, QuestionBatch
from raptor_lab.comparison.index import Index
from raptor_lab.transformer import load_transformer

ENCODERS = ("facebook/dpr-question_encoder-multiset-base", "facebook/dpr-ctx_encoder-multiset-base")
"""Encoders of questions and passages of Tables 1 and 2; the other tables have "single-nq"."""
DPR = ("dpr", "collapsed-dpr")
"""Systems that search the chunks, and the nodes of all layers."""
MAX_TOKENS = 256  # of a question or a passage, as the encoders were trained
BATCH = 32


@dataclass(frozen=True, eq=False)
class DprSystem:
    """System that ranks nodes by the inner product of the vectors of two encoders."""

    name: str
    question_model: str = ENCODERS[0]
    passage_model: str = ENCODERS[1]

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """See ``System.make_contexts``."""
        nodes, passages = _encode_nodes(index, self.passage_model)
        where = batch.where.narrow(layers=(0,)) if self.name == "dpr" else batch.where
        rows = find_matching_rows(nodes, where)
        allowed = [nodes[row] for row in rows]
        texts = [question.text for question in batch.questions]
        scores = _encode_texts("DPRQuestionEncoder", self.question_model, texts) @ passages[rows].T
        query = Query(self.name, budget_tokens, where=batch.where)
        found = (
            retrieve_best_nodes(*pair, allowed, query) for pair in zip(texts, scores, strict=True)
        )
        return list(map(Context.of, found))


@lru_cache(maxsize=1)
def _encode_nodes(index: Index, model: str) -> tuple[list[Node], Vectors]:
    """Encode the nodes of an index, shape ``(n_nodes, n_dims)``, once for both systems."""
    nodes = index.store.nodes()
    titles = [str(node.metadata.get("title", "")) for node in nodes]
    return nodes, _encode_texts("DPRContextEncoder", model, titles, [node.text for node in nodes])


_load = lru_cache(maxsize=2)(load_transformer)


def _encode_texts(class_name: str, model: str, *parts: Sequence[str]) -> Vectors:
    """Encode questions, or passages from their titles and texts, shape ``(n, n_dims)``."""
    import torch

    tokenizer, encoder = _load(class_name, model, "encoder", "--dpr")
    limit = min(MAX_TOKENS, encoder.config.max_position_embeddings)
    vectors: list[Any] = []
    for start in range(0, len(parts[0]), BATCH):
        texts = (list(part[start : start + BATCH]) for part in parts)
        read = tokenizer(
            *texts, padding=True, truncation=True, max_length=limit, return_tensors="pt"
        )
        # The encoders were trained without the numbers of segments that the tokenizer also gives.
        inputs = {name: read[name].to(encoder.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            vectors.append(encoder(**inputs).pooler_output.cpu().numpy())
    return np.concatenate(vectors).astype(np.float32)
