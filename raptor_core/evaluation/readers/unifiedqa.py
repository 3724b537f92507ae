"""UnifiedQA (Khashabi et al. 2020, arXiv:2005.00700): a T5 that runs on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from raptor_core.errors import MissingExtraError, ModelError
from raptor_core.evaluation.readers.base import Ask
from raptor_core.identity import fingerprint
from raptor_core.models.embedding.loading import no_progress_bar

MODEL = "allenai/unifiedqa-v2-t5-3b-1363200"
"""The size that the paper reads with."""

MAX_TOKENS = 512
"""Tokens that it reads, context and question together; what follows is cut off, as in the paper."""

MAX_NEW_TOKENS = 64
BATCH = 8
_SEPARATOR = " \\n "
"""A backslash and an n, as it was trained."""


class UnifiedQa:
    """Any sequence-to-sequence model of that form, by hub name or local path.

    It is loaded at the first use; answers are searched greedily, so they are always the same.
    """

    def __init__(self, model: str = MODEL) -> None:
        self._model = model

    @cached_property
    def fingerprint(self) -> str:
        """Of the model's name and the limits."""
        return fingerprint("unifiedqa", {"model": self._model, "limits": [MAX_TOKENS, 64]})

    def read(self, asks: Sequence[Ask]) -> Iterator[tuple[int, str]]:
        """See ``AnswerReader.read``; long ones first, so that a batch is of one length.

        Raises:
            ModelError: the model cannot be loaded.
            MissingExtraError: its tokenizer needs the extra ``unifiedqa``.
        """
        order = sorted(range(len(asks)), key=lambda at: -len(asks[at].context))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            answers = self._generate([prompt(asks[at]) for at in places])
            yield from zip(places, answers, strict=True)

    def _generate(self, texts: list[str]) -> list[str]:
        import torch

        tokenizer, model = self._loaded
        read = tokenizer(
            texts, return_tensors="pt", padding=True, truncation=True, max_length=MAX_TOKENS
        )
        with torch.inference_mode():
            made = model.generate(
                input_ids=read["input_ids"],
                attention_mask=read["attention_mask"],
                max_new_tokens=MAX_NEW_TOKENS,
                do_sample=False,
                num_beams=1,
            )
        return [text.strip() for text in tokenizer.batch_decode(made, skip_special_tokens=True)]

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        try:
            with no_progress_bar():
                model = AutoModelForSeq2SeqLM.from_pretrained(self._model)
                tokenizer = AutoTokenizer.from_pretrained(self._model)
        except (OSError, ValueError, ImportError) as error:
            if "sentencepiece" in str(error) and not importlib.util.find_spec("sentencepiece"):
                raise MissingExtraError("unifiedqa", f"the tokenizer of {self._model}") from error
            raise ModelError(
                f"the reader {self._model!r} cannot be loaded: {error}. Check --model (a hub name "
                "or a local folder) and that the hub can be reached"
            ) from error
        return tokenizer, model.eval()


def prompt(ask: Ask) -> str:
    """Question, options and context in the form that the model was trained on, in lower case.

    The question comes first, so that a long context is what is cut off.
    """
    options = " ".join(f"({chr(97 + at)}) {text}" for at, text in enumerate(ask.question.options))
    parts = (ask.question.text, options, " ".join(ask.context.split()))
    return _SEPARATOR.join(part for part in parts if part).lower()
