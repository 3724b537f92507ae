"""Versions and term counts of the trees on a server that this process has read last.

Which points belong to a version is in ``versions.py``, a read of them in ``sessions.py``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Mapping

from raptor_core.store.engines.base import Condition
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.terms import NO_TERMS, TERM_FIELDS, CorpusTerms, Terms
from raptor_core.store.engines.versions import (
    NO_VERSION,
    VERSION_FIELDS,
    VERSIONED,
    Version,
    read_manifests,
)
from raptor_core.store.payload import Payload

KNOWN_SECONDS = 30.0
"""Largest age of the term counts of trees that no read returned."""

RECENT_SECONDS, MAX_RECENT = 10.0, 50
"""How long after a change a tree is checked together with others, and how many are at most."""


class KnownVersions:
    """Last known version of each tree of a collection. Threads may share it."""

    def __init__(self, points: ClientEngine) -> None:
        self._points = points
        self._versions: dict[str, Version] = {}
        self._change_times: dict[str, float] = {}
        self._unfinished: list[Payload] = []
        self._refreshed_at = -math.inf
        self._terms = CorpusTerms()
        self._changed: set[str] = set()
        self._are_terms_due = False
        self._lock = threading.RLock()

    def all(self) -> dict[str, Version]:
        """Return the known versions by tree."""
        return dict(self._versions)

    def of(self, trees: Iterable[str]) -> dict[str, Version]:
        """Return the known version of each of these trees, ``NO_VERSION`` without any."""
        return {tree: self._versions.get(tree, NO_VERSION) for tree in set(trees)}

    @property
    def are_changing(self) -> bool:
        """Whether a tree has changed recently."""
        return bool(self._change_times)

    def refresh(self, max_seconds: float = math.inf) -> None:
        """Read the versions of all trees, unless the last time is at most ``max_seconds`` ago."""
        with self._lock:
            if time.monotonic() - self._refreshed_at < max_seconds:
                return
            fields = (*VERSION_FIELDS, "state")
            stored = [r.payload for r in self._points.scroll(Condition((VERSIONED,)), fields)]
            versions = {payload["tree"]: Version.of(payload) for payload in stored}
            self._update({**self._versions, **versions}, versions)
            self._unfinished = [p for p in stored if p.get("gone") or p["state"] == "dropped"]
            self._are_terms_due = True
            self._refreshed_at = time.monotonic()

    def take_unfinished(self) -> list[Payload]:
        """Return the manifests whose publications left points to delete, each once."""
        self.refresh(KNOWN_SECONDS)
        unfinished, self._unfinished = self._unfinished, []
        return unfinished

    def learn_published(self, trees: Iterable[str], versions: Mapping[str, Version]) -> None:
        """Keep the versions that this process has published; a tree without any was dropped."""
        self._update(trees, versions)
        self._are_terms_due = True

    def check(self, publications: Mapping[str, str]) -> list[str]:
        """Return the trees whose manifests are of other publications, and keep their versions.

        A tree whose known version is another by now counts too. Trees that changed recently are
        read in the same request, so that the next read knows their versions.
        """
        if not publications:
            return []
        checked = {**self._recently_changed(), **publications}
        stored = read_manifests(self._points, checked, VERSION_FIELDS)
        versions = {tree: Version.of(payload) for tree, payload in stored.items()}
        with self._lock:  # versions that another thread has read since may be newer
            known = self.of(checked)
            current = [t for t, name in checked.items() if known[t].publication == name]
            if changed := [t for t in current if versions.get(t, NO_VERSION) != known[t]]:
                self._update(changed, versions)
        valid = {t for t in current if versions.get(t, NO_VERSION).publication == checked[t]}
        return [tree for tree in publications if tree not in valid]

    def _recently_changed(self) -> dict[str, str]:
        """Return the publications of the trees that changed last."""
        since = time.monotonic() - RECENT_SECONDS
        with self._lock:
            self._change_times = {t: at for t, at in self._change_times.items() if at > since}
            trees = list(self._change_times)[-MAX_RECENT:]
            return {tree: self._versions.get(tree, NO_VERSION).publication for tree in trees}

    def _update(self, trees: Iterable[str], versions: Mapping[str, Version]) -> None:
        with self._lock:
            # Other threads iterate over the dictionary, so it is replaced.
            known = dict(self._versions)
            for tree in trees:
                previous = known.pop(tree, NO_VERSION)
                if tree in versions:
                    known[tree] = versions[tree]
                if previous.publication != versions.get(tree, NO_VERSION).publication:
                    self._changed.add(tree)
                    self._change_times.pop(tree, None)
                    if previous is not NO_VERSION:
                        self._change_times[tree] = time.monotonic()
            self._versions = known

    def terms(self) -> CorpusTerms:
        """Return the term counts of all trees; those of changed trees are read where due."""
        self.refresh(KNOWN_SECONDS)
        with self._lock:
            if self._are_terms_due:
                stored = read_manifests(self._points, self._changed, TERM_FIELDS)
                terms = {t: Terms.of_payload(p) for t, p in stored.items() if "terms" in p}
                self._terms.put({tree: terms.get(tree, NO_TERMS) for tree in self._changed})
                self._changed, self._are_terms_due = set(), False
            return self._terms
