"""A library of documents in folders, one tree each, kept in step with a store by plain calls."""

from __future__ import annotations

from collections import Counter

from support.hashing import HashingEmbedder

from raptor_core.documents.base import Document
from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import Summary
from raptor_core.rebuild import plan_rebuild
from raptor_core.settings import Settings
from raptor_core.store import open_store
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components
from raptor_core.tree.leaves import make_leaves
from raptor_core.tree.publish import make_manifest
from raptor_core.tree.published import PublishedTrees, read_published_tree

SMALL = {
    "chunking": {"max_tokens": 24, "max_context_tokens": 0},
    "clustering": {"max_tokens": 400, "dimensions": 3},
    "rebuild": {"max_members": 8},
}


MAX_WORDS = 24


class CrashError(Exception):
    """Stands for the end of the process in the middle of a call."""


class FailingSummarizer:
    """The distinct words of the children, as far as they fit; markers are among them.

    It ends with a crash once ``n_made`` is ``crash_at``. ``asked`` counts requests by key.
    """

    fingerprint = fingerprint("distinct words", {})

    def __init__(self):
        self.n_made = 0
        self.crash_at = None
        self.asked = Counter()

    def summarize(self, requests):
        for request in requests:
            if self.n_made == self.crash_at:
                raise CrashError
            self.asked[request.key] += 1
            self.n_made += 1
            words = dict.fromkeys(" ".join(request.texts).replace(".", " ").split())
            yield Summary(request.key, " ".join(list(words)[:MAX_WORDS]) + ".")


class Library:
    """Documents by id ("folder/name"), an embedded store, and what the last rebuild did."""

    def __init__(self, root, **settings):
        self.documents = {}
        self.embedder = HashingEmbedder()
        self.summarizer = FailingSummarizer()
        self.settings = {}
        self.configure(**settings)
        self.store = open_store(
            self.components.settings.store, root, self.components.store_identity
        )

    def configure(self, **settings):
        """Change settings; what is stored stays."""
        for part, values in {**SMALL, **settings}.items():
            self.settings[part] = {**self.settings.get(part, {}), **values}
        self.components = Components(
            Settings.model_validate(self.settings),
            embedder=self.embedder,
            summarizer=self.summarizer,
        )

    def grouped(self):
        found = {}
        for name, paragraphs in sorted(self.documents.items()):
            text = "\n\n".join(paragraphs)
            found.setdefault(name.split("/")[0], []).append(Document(name, text))
        return found

    def gone(self):
        """Names of the trees that are published and have no document."""
        published = {manifest.tree for manifest in self.store.manifests()}
        return sorted(published - self.grouped().keys())

    def earlier(self):
        """What the trees go on from, by name; and the published ones that are gone."""
        documents = self.grouped()
        published = PublishedTrees()
        published.read_manifests(self.store, documents)
        found = {
            tree: published.earlier_tree(self.store, tree, given, self.leaves)
            for tree, given in documents.items()
        }
        gone = {name: read_published_tree(self.store, name) for name in self.gone()}
        return {name: tree for name, tree in found.items() if tree} | gone

    def leaves(self, tree):
        return make_leaves(tree, self.grouped()[tree], self.components)

    def plan(self):
        return plan_rebuild(
            self.earlier(), self.grouped(), components=self.components, known=self.store
        )

    def is_due(self, tree):
        """Whether documents or settings are not those of the published tree."""
        wanted = {document.id: document.content_hash for document in self.grouped()[tree]}
        settings = self.components.settings_fingerprint
        return not any(
            (manifest.documents, manifest.settings_fingerprint) == (wanted, settings)
            for manifest in self.store.manifests([tree])
        )

    def rebuild(self):
        """Build what changed, publish it, drop what is gone; the trees and the calls made."""
        before, n_made = self.earlier(), self.summarizer.n_made
        documents = {tree: found for tree, found in self.grouped().items() if self.is_due(tree)}
        trees = (
            build_trees(documents, components=self.components, known=self.store, previous=before)
            if documents
            else {}
        )
        for name, tree in trees.items():
            manifest = make_manifest(tree, documents[name], self.components.settings_fingerprint)
            self.store.publish(manifest, list(tree.nodes()), tree.vectors())
        for name in self.gone():
            self.store.drop(name)
        return trees, self.summarizer.n_made - n_made
