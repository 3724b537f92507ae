"""The former place of ``raptor_core.HomeRetriever``; goes with the next release."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "HomeRetriever":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        "dagster_project.home_retriever goes with the next release: "
        "`from raptor_core import HomeRetriever`",
        DeprecationWarning,
        stacklevel=2,
    )
    from raptor_core import HomeRetriever

    return HomeRetriever
