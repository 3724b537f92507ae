"""Parts of one's own in place of those that the settings make."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from raptor_core.settings.part import Part

Name = Annotated[str, StringConstraints(pattern=r"^$|^[\w.]+:[\w.]+$|^[\w-]+$")]
"""Empty, an import path (``package.module:name``), or the name of an entry point."""


class ComponentsSettings(Part):
    """Parts of one's own, by import path or by the name of an entry point; empty is ours.

    A class or a function that is named is called for the part, with those of ``settings`` and
    ``counter`` that its parameters name; a function that is named as summarizer is itself what
    summarizes; any other object is the part.

    Attributes:
        counter, chunker, embedder, clusterer, summarizer, judge: one of your own, such as
            "package.module:name", or the name of an entry point; empty is ours.
    """

    counter: Name = ""
    chunker: Name = ""
    embedder: Name = ""
    clusterer: Name = ""
    summarizer: Name = ""
    judge: Name = ""
