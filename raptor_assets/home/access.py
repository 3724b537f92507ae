"""Access to the source, the store, the tables and the components of one corpus."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from raptor_assets.assets.names import CHAIN_NAMES, CorpusNames
from raptor_assets.assets.versions import tree_code_version
from raptor_assets.home.folder import Home
from raptor_assets.home.published import PublishedState, read_published
from raptor_assets.home.source import SourceAccess
from raptor_assets.home.waiting import WaitingBuilds
from raptor_core.curation import Curation
from raptor_core.documents import Scan, partition_key
from raptor_core.evaluation.golden_file import Question, load_golden
from raptor_core.settings import Settings, StoreSettings
from raptor_core.store import VectorStore, open_replacement_store, open_store, read_stored_identity
from raptor_core.store.base import Manifest, ShortManifest
from raptor_core.store.collection import check_embedder
from raptor_core.tables.curation import read_decisions
from raptor_core.tables.files import TableStore
from raptor_core.transfer.kept import KeptBuilds
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import corpus_tree_settings

if TYPE_CHECKING:
    import dagster as dg


VERSIONS, WAITING = "versions", "waiting_builds"
"""Folders for earlier builds and for builds that wait for approval, beside the tables."""


class CorpusAccess:
    """Access to the corpus of one home; each part is loaded when it is first used."""

    corpus_below: CorpusAccess | None = None
    """Access to the corpus below, for a corpus tree."""

    def __init__(
        self,
        settings: Settings,
        home: Home,
        *,
        components: Components | None = None,
        scan: Scan | None = None,
        names: CorpusNames | None = None,
    ) -> None:
        self.settings = settings
        self.home = home
        self.names = home.read_names() if names is None else names
        self.source = SourceAccess(
            settings, home, scan, lambda: self._components, follows=self.names.has_upstream
        )
        components = components or Components(settings)
        self._components = components.with_cache(
            NodeCache(home.unfinished_work, settings.store.corpus)
        )
        self._is_shared = False
        self.store = StoreAccess(self)

    @cached_property
    def tables(self) -> TableStore:
        """Parquet files by asset key and partition."""
        return self.home.table_store(self.settings)

    def components(self, instance: dg.DagsterInstance | None = None) -> Components:
        """Return the components; their cache is in the home, or in the instance's PostgreSQL."""
        if instance is None or self._is_shared:
            return self._components
        from raptor_assets.home.records import open_shared_cache

        cache = open_shared_cache(instance, self.settings.store.corpus)
        if cache:
            self._is_shared = True
            self._components = self._components.with_cache(cache)
        return self._components

    @cached_property
    def kept_builds(self) -> KeptBuilds:
        """Earlier builds of the trees."""
        return self._open_builds(VERSIONS)

    @cached_property
    def waiting_builds(self) -> WaitingBuilds:
        """Builds that wait for approval."""
        return WaitingBuilds(self.tables, self._open_builds(WAITING))

    def _open_builds(self, folder: str) -> KeptBuilds:
        return KeptBuilds(f"{self.home.tables_url(self.settings).rstrip('/')}/{folder}")

    def pinned_trees(self, names: Collection[str]) -> set[str]:
        """Return those of these trees that are pinned to an earlier build."""
        if not self.store.exists():
            return set()
        with self.store.open_existing() as store:
            return {short.tree for short in store.short_manifests(list(names)) if short.pin}

    def read_build_notes(self, published: Manifest) -> dict[str, object]:
        """Return the notes on a published build: its changes and cost, if they are recorded."""
        from raptor_assets.shown.tree_records import read_partition_records  # loads Dagster

        partition = partition_key(published.tree, self.settings.grouping)
        record = read_partition_records(self.tables, partition).get(published.tree)
        return record.to_notes() if record and record.build_id == published.build_id else {}

    @cached_property
    def tree_code_version(self) -> str:
        """Code version of the published trees; see ``versions.tree_code_version``."""
        return tree_code_version(self.settings, self._components.custom_fingerprints)

    def read_curation(self) -> Curation:
        """Return the present decisions of people."""
        return Curation(read_decisions(self.tables))

    def read_golden_cases(self) -> tuple[Question, ...]:
        """Return the questions of the golden set, if the settings name one."""
        path = self.home.golden_path(self.settings)
        return () if path is None else load_golden(path)

    @cached_property
    def n_summary_layers(self) -> int:
        """Number of summary layers of the highest tree, or the maximum if that is not known.

        Tables in a bucket are not searched for it, since definitions are loaded often.
        """
        layers = list(range(1, self.settings.tree.max_layers + 1))
        is_local = "://" not in self.home.tables_url(self.settings)
        if is_local and self.tables.has_any_table(CHAIN_NAMES.tree.table_path):
            made = ((n, CHAIN_NAMES.summaries(n), CHAIN_NAMES.findings(n)) for n in layers)
            layers = [
                n
                for n, *assets in made
                if any(self.tables.has_any_table(a.table_path) for a in assets)
            ]
        return max(layers, default=0)

    def write_declaration(self) -> None:
        """Write the names of a named corpus into its home, unless another corpus builds there."""
        if self.names.corpus:
            self.home.check_owner(self.names.corpus)
            effective = self.settings.model_copy(update={"source": self.source.settings})
            self.home.write_declaration(self.names, effective)

    def find_begun_or_published(self, begun: Collection[str]) -> set[str]:
        """Return the partitions that a build began or that are published, also by an import."""
        return {*begun, *self.read_published().short_manifests}

    def read_published(self) -> PublishedState:
        """Read what is published, by partition."""
        if not self.store.exists():
            return PublishedState()
        published = read_published(self.store.open_existing, self.settings.grouping)
        return replace(published, read_waiting_inputs=self.waiting_builds.read_inputs)


def corpus_tree_access(below: CorpusAccess) -> CorpusAccess:
    """Return the access of the corpus tree of a corpus."""
    settings, home = corpus_tree_settings(below.settings), below.home.corpus_tree
    components = below.components().for_corpus_tree(settings)
    above = CorpusAccess(settings, home, components=components, names=below.names.corpus_tree())
    above.corpus_below = below
    return above


class StoreAccess:
    """Vector store in the home or on a server; opening it may raise a StoreError."""

    def __init__(self, access: CorpusAccess, settings: StoreSettings | None = None) -> None:
        self._access = access
        self._settings = settings or access.settings.store
        self._root = access.home.embedded_store_path

    def open(self) -> VectorStore:
        """Open the collection for the settings' embedder; create it if it does not exist."""
        identity = self._access.components().probed_identity
        return open_store(self._settings, self._root, identity, owner=self._access.names.corpus)

    def open_existing(self) -> VectorStore:
        """Open the collection as it is, without loading an embedder."""
        return open_store(self._settings, self._root, owner=self._access.names.corpus)

    def open_replacement(self) -> AbstractContextManager[VectorStore]:
        """Open an empty store of the settings' embedder, which replaces the stored one."""
        identity = self._access.components().probed_identity
        return open_replacement_store(self._settings, self._root, identity)

    def exists(self) -> bool:
        """Return whether there is a store of this corpus."""
        return read_stored_identity(self._settings, self._root) is not None

    def check_embedder(self) -> None:
        """Raise StoreMismatchError if the store was made with another embedder."""
        if stored := read_stored_identity(self._settings, self._root):
            embedder = self._access.components().embedder
            where = f"the store of corpus {stored.corpus!r}"
            check_embedder(stored, embedder.fingerprint, f"embedder {embedder.model}", where)

    def list_trees(self) -> list[str]:
        """Return the names of the stored trees."""
        return [short.tree for short in self._read_short_manifests()]

    def list_built_trees(self) -> list[str]:
        """Return the names of the trees that builds published."""
        return [short.tree for short in self._read_short_manifests() if short.inputs]

    def _read_short_manifests(self) -> list[ShortManifest]:
        if not self.exists():
            return []
        with self.open_existing() as store:
            return store.short_manifests()
