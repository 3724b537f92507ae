"""Data sets that evaluations are recorded on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from raptor_core.settings.part import Part

DatasetName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,64}$")]
"""Of letters, digits and underscores: an asset is called by it."""


class EvaluationSettings(Part):
    """Questions with known answers on which retrieval is measured; each set is an asset.

    Attributes:
        datasets: data sets by name, each a file as `raptor eval retrieval` takes it or the folder
            of NarrativeQA, relative to the settings file, such as
            { qasper = "qasper-dev-v0.3.json" }.
        split: of NarrativeQA: train, valid or test.
        strategies: what is measured beside "flat" and ``retrieval.strategy``, as `raptor eval
            retrieval` names it.
        budgets_tokens: tokens of a context, each measured on its own.
        pooled: ask every question of all documents.
    """

    datasets: Mapping[DatasetName, str] = {}
    split: str = "test"
    strategies: tuple[str, ...] = ("lexical", "collapsed")
    budgets_tokens: tuple[Annotated[int, Field(ge=1)], ...] = Field((400, 1000, 2000), min_length=1)
    pooled: bool = False
