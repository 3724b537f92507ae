"""Scoring of a model's answers with the measures of the paper, by the rules of each data set."""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from raptor_core.errors import MissingExtraError
from raptor_core.evaluation.golden_file import Question

SCORES: Mapping[str, str] = {
    "answer_f1": "F1 of words with the nearest reference answer, as in QASPER's evaluation",
    "accuracy": "share of multiple-choice questions that are answered correctly",
    "accuracy_hard": "accuracy on the HARD subset",
    "bleu_1": "BLEU-1 of each answer against all references, mean",
    "bleu_4": "BLEU-4 of each answer, equal weights, smoothed (+ 0.1 if nothing matches)",
    "rouge_l": "ROUGE-L, F-measure, the best of the references, with stemming",
    "meteor": "METEOR with words, stems and, if nltk has it, WordNet; the best of the references",
}
"""Meaning of each score, by its stable name."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CHOICE = re.compile(r"\b\d+\b")


def score_answer(dataset: str, question: Question, answer: str) -> dict[str, float]:
    """Score an answer with the measures that apply to its question; empty without a reference."""
    if question.gold is not None:
        right = float(find_chosen_option_index(answer, question.options) == question.gold)
        return {"accuracy": right} | ({"accuracy_hard": right} if question.hard else {})
    if not question.answers:
        return {}
    if dataset == "narrativeqa":
        return bleu_rouge_meteor_scores(answer, question.answers)
    return {"answer_f1": max(answer_f1(answer, gold) for gold in question.answers)}


def find_chosen_option_index(answer: str, options: Sequence[str]) -> int | None:
    """Return the index of the option that an answer names by number or in words, or None."""
    plain = _normalize_words(answer)
    for at, option in enumerate(options):
        if plain and plain == _normalize_words(option):
            return at
    numbers = [int(number) for number in _CHOICE.findall(answer)]
    named = [number for number in numbers if 1 <= number <= len(options)]
    if named:
        return named[0] - 1
    contained = [at for at, option in enumerate(options) if _normalize_words(option) in plain]
    return contained[0] if len(contained) == 1 else None


def answer_f1(answer: str, gold: str) -> float:
    """Compute F1 of the words of two answers, without case, punctuation and articles (QASPER)."""
    ours, theirs = _normalize_words(answer).split(), _normalize_words(gold).split()
    n_same = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * n_same / (len(ours) + len(theirs)) if n_same else 0.0


def bleu_rouge_meteor_scores(answer: str, references: Sequence[str]) -> dict[str, float]:
    """Compute BLEU-1, BLEU-4, ROUGE-L and METEOR of an answer in lower case."""
    try:
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate import bleu_score, meteor_score
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtraError("lab", "measuring NarrativeQA's answers") from error
    tokenize = NLTKWordTokenizer().tokenize
    tokenized = [tokenize(reference.casefold()) for reference in references]
    ours = tokenize(answer.casefold())
    if not ours:
        return dict.fromkeys(("bleu_1", "bleu_4", "rouge_l", "meteor"), 0.0)
    smooth = bleu_score.SmoothingFunction().method1
    rouge = RougeScorer(["rougeL"], use_stemmer=True).score_multi(list(references), answer)
    return {
        "bleu_1": float(bleu_score.sentence_bleu(tokenized, ours, (1,), smooth)),
        "bleu_4": float(bleu_score.sentence_bleu(tokenized, ours, (0.25,) * 4, smooth)),
        "rouge_l": float(rouge["rougeL"].fmeasure),
        "meteor": float(meteor_score.meteor_score(tokenized, ours, wordnet=_load_synonyms())),
    }


def _load_synonyms() -> Any:
    """Return WordNet, which must be downloaded, or a substitute without synonyms."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return _NoSynonyms()
    return wordnet


class _NoSynonyms:
    """Substitute for WordNet; only exact and stemmed words match."""

    def synsets(self, _word: str) -> list[Any]:
        return []


def _normalize_words(text: str) -> str:
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())
