"""Figures 5 and 6 as tables: points, and the straight lines through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

import numpy as np

from raptor_core.evaluation.paper.scaling import Slope, TokenPoint, fit_slope
from raptor_core.evaluation.paper.study import Study
from raptor_core.evaluation.paper.table import Table

MAX_ROWS = 12
"""More trees than that are told by groups of as many each."""

_PAPER = (
    "The paper draws both without a number (Figures 5 and 6): straight lines on all data sets, "
    "seconds up to 80,000 tokens, with gpt-3.5-turbo."
)
_TOKENS = (
    "What a chat endpoint would be asked and would answer for all summaries of a document's tree, "
    "by the tree's own token counter; extracted sentences stand for answers where no model is "
    "asked. Means of documents of like length where there are many."
)
_SECONDS = (
    "Prefixes of the longest document, each built from scratch in this process with its models "
    "loaded. Seconds depend on the machine and on what else it does."
)


def scaling_tables(studies: Sequence[Study]) -> list[Table]:
    """The lines of all data sets, then the points of each."""
    rows = tuple(row for study in studies for row in _slopes(study))
    head = ("data set", "what", "points", "for each 1,000 tokens of the document", "R²")
    tables = [Table("Straight lines", head, rows, _PAPER)]
    for study in studies:
        tables.append(_token_table(study))
        if study.times:
            tables.append(_time_table(study))
    return tables


def _slopes(study: Study) -> Iterator[tuple[str, ...]]:
    lengths = [point.document_tokens for point in study.tokens]
    prompts = [float(point.prompt_tokens) for point in study.tokens]
    completions = [float(point.completion_tokens) for point in study.tokens]
    both = [a + b for a, b in zip(prompts, completions, strict=True)]
    names = {"prompt tokens": prompts, "completion tokens": completions, "all tokens": both}
    for name, values in names.items():
        yield study.name, name, *_told(fit_slope(lengths, values), len(values), ",.0f")
    if study.times:
        timed = [point.document_tokens for point in study.times]
        seconds = [point.seconds for point in study.times]
        yield study.name, "seconds", *_told(fit_slope(timed, seconds), len(seconds), ".3f")


def _told(slope: Slope | None, n: int, form: str) -> tuple[str, str, str]:
    if slope is None:
        return str(n), "", ""
    return str(n), f"{slope.per_thousand:{form}}", f"{slope.r_squared:.3f}"


def _token_table(study: Study) -> Table:
    groups = np.array_split(np.arange(len(study.tokens)), min(MAX_ROWS, len(study.tokens)))
    rows = tuple(_token_row([study.tokens[at] for at in group]) for group in groups)
    title = f"{study.name}: tokens of a build (Figure 5)"
    head = ("documents", "tokens of a document", "prompt", "completion", "together")
    return Table(title, head, rows, _TOKENS)


def _token_row(points: Sequence[TokenPoint]) -> tuple[str, ...]:
    length = mean(point.document_tokens for point in points)
    prompt = mean(point.prompt_tokens for point in points)
    completion = mean(point.completion_tokens for point in points)
    means = (length, prompt, completion, prompt + completion)
    return (str(len(points)), *(f"{value:,.0f}" for value in means))


def _time_table(study: Study) -> Table:
    rows = tuple(
        (
            f"{p.document_tokens:,}",
            f"{p.seconds:.2f}",
            f"{1000 * p.seconds / p.document_tokens:.3f}",
        )
        for p in study.times
    )
    head = ("tokens", "seconds", "seconds for each 1,000 tokens")
    return Table(f"{study.name}: seconds of a build (Figure 6)", head, rows, _SECONDS)
