"""Reader of the paper: UnifiedQA (Khashabi et al. 2020, arXiv:2005.00700), run locally."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from raptor_core.identity import fingerprint
from raptor_lab.readers import ReaderInput
from raptor_lab.transformer import load_transformer

UNIFIEDQA = "allenai/unifiedqa-v2-t5-3b-1363200"
"""Model of the paper, 3 billion parameters."""
CONTEXT_TOKENS = 400
"""Budget of a context in the paper, because the model reads at most ``MAX_TOKENS``."""
MAX_TOKENS = 512  # of question and context together; the end of the context is cut off
MAX_ANSWER_TOKENS = 64
BATCH = 8
_SEPARATOR = " \\n "  # a backslash and an n, as in its training


class UnifiedQaReader:
    """Reader that is a T5 model trained like UnifiedQA, with greedy decoding.

    Args:
        model: name at the hub, or a local folder.
    """

    def __init__(self, model: str = UNIFIEDQA) -> None:
        self._model = model
        limits = [MAX_TOKENS, MAX_ANSWER_TOKENS]
        self.fingerprint = fingerprint("unifiedqa", {"model": model, "limits": limits})

    def read(self, asks: Sequence[ReaderInput]) -> Iterator[tuple[int, str]]:
        """See ``AnswerReader.read``; long contexts come first, to batch those of similar length."""
        order = sorted(range(len(asks)), key=lambda at: -len(asks[at].context))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            yield from zip(places, self._generate_answers([asks[at] for at in places]), strict=True)

    def _generate_answers(self, asks: Sequence[ReaderInput]) -> list[str]:
        import torch

        tokenizer, model = self._tokenizer_and_model
        prompts = [unifiedqa_prompt(ask) for ask in asks]
        inputs = tokenizer(
            prompts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            outputs = model.generate(
                input_ids=inputs["input_ids"].to(model.device),
                attention_mask=inputs["attention_mask"].to(model.device),
                max_new_tokens=MAX_ANSWER_TOKENS,
                do_sample=False,
                num_beams=1,
            )
        return [text.strip() for text in tokenizer.batch_decode(outputs, skip_special_tokens=True)]

    @cached_property
    def _tokenizer_and_model(self) -> tuple[Any, Any]:
        name = "T5ForConditionalGeneration"
        return load_transformer(name, self._model, "reader", "--reader unifiedqa:MODEL")


def unifiedqa_prompt(ask: ReaderInput) -> str:
    """Write question, options and context as in the model's training, in lower case."""
    options = " ".join(f"({chr(97 + at)}) {text}" for at, text in enumerate(ask.question.options))
    parts = (ask.question.text, options, " ".join(ask.context.split()))
    return _SEPARATOR.join(part for part in parts if part).lower()
