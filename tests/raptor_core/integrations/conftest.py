"""A retriever over small trees, and a query that finds chunks and summaries."""

import pytest
from support.hashing import HashingEmbedder
from support.workshop import SMALL, prose

from raptor_core.documents.base import Document
from raptor_core.retrieval import Query, Retriever
from raptor_core.settings import Settings
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components


@pytest.fixture(scope="session")
def retriever_over_trees():
    settings = Settings.model_validate({part: SMALL[part] for part in ("chunking", "components")})
    components = Components(settings, embedder=HashingEmbedder())
    documents = {
        name: [Document(name, prose(40, seed), source=f"src/{name}", metadata={"year": seed})]
        for seed, name in enumerate(("a.md", "b.md"))
    }
    return Retriever.from_trees(
        list(build_trees(documents, components=components).values()), components
    )


@pytest.fixture
def retriever(retriever_over_trees):
    return retriever_over_trees


@pytest.fixture
def mixed():
    """Every layer is searched, so that hits are chunks and summaries."""
    return Query("collapsed", budget_tokens=100_000, top_k=100)
