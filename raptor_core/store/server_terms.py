"""The term counts of a server's trees: a point for each tree, added up by who searches."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from threading import Lock

from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engine import Point
from raptor_core.store.lexical import Sparse
from raptor_core.store.qdrant import ClientEngine
from raptor_core.store.terms import NO_TERMS, CorpusTerms, Terms
from raptor_core.store.versions import Version

TERM_TREES = 500
"""Trees whose counts are asked for at once, some kB each."""


def terms_id(tree: str, publication: str) -> str:
    """Id of the point that counts a tree's terms as of a publication."""
    return str(uuid.uuid5(NODE_NAMESPACE, digest("terms", publication, tree)))


def terms_point(tree: str, publication: str, terms: Terms) -> Point:
    """The point with a tree's counts."""
    payload = {
        "state": "terms",
        "tree": tree,
        "publication": publication,
        "n_nodes": terms.n_nodes,
        "terms": terms.encode(),
    }
    return Point(terms_id(tree, publication), payload)


def read_terms(engine: ClientEngine, publications: Mapping[str, str]) -> dict[str, Terms]:
    """Counts by tree, as of the publication that is given; trees that have none are left out."""
    ids = [terms_id(tree, publication) for tree, publication in publications.items()]
    found: dict[str, Terms] = {}
    for at in range(0, len(ids), TERM_TREES):
        part = ids[at : at + TERM_TREES]
        for record in engine.fetch(part, ("tree", "n_nodes", "terms"), dense=False):
            stored = record.payload
            found[stored["tree"]] = Terms.decode(stored["n_nodes"], stored["terms"])
    return found


class ServerTerms:
    """The counts of all published trees, read when words are first searched for."""

    def __init__(self, engine: ClientEngine) -> None:
        self._engine = engine
        self._corpus = CorpusTerms()
        self._changed: set[str] = set()
        self._is_due = True
        self._turn = Lock()

    def change(self, trees: Iterable[str]) -> None:
        """These trees have other counts now, or none; they are read at the next ``renew``."""
        with self._turn:
            self._changed.update(trees)

    def renew(self) -> None:
        """Read what changed before words are weighed again."""
        self._is_due = True

    def weighted(self, query: Sparse, versions: Mapping[str, Version]) -> Sparse:
        """The words of a question, weighed; see ``CorpusTerms.weighted``.

        ``versions`` are those of all published trees.
        """
        with self._turn:
            if self._is_due:
                self._is_due = False
                found = read_terms(
                    self._engine,
                    {t: versions[t].publication for t in self._changed & versions.keys()},
                )
                self._corpus.put({tree: found.get(tree, NO_TERMS) for tree in self._changed})
                self._changed = set()
            return self._corpus.weighted(query)
