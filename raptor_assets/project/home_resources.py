"""The resources of one home, for Dagster and for the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from raptor_assets.names import DOCUMENTS, CorpusNames
from raptor_assets.project.home import Home
from raptor_assets.project.plan import Changes, find_changes
from raptor_assets.project.record_files import Records
from raptor_assets.project.resources import (
    ComponentsResource,
    DatasetsResource,
    GoldenResource,
    SourceResource,
    StoreResource,
    TablesResource,
)
from raptor_assets.project.store_state import StoreState
from raptor_assets.project.turns import TurnsResource
from raptor_assets.report_pages import ReportFolder
from raptor_core.documents import Document, Inventory, Scan
from raptor_core.settings import Settings
from raptor_core.tables import table_to_documents
from raptor_core.tree.components import Components


@dataclass
class Resources:
    """The resources of one home."""

    source: SourceResource
    components: ComponentsResource
    tables: TablesResource
    store: StoreResource
    reports: ReportFolder
    golden: GoldenResource
    datasets: DatasetsResource
    turns: TurnsResource
    names: CorpusNames
    home: Home
    settings: Settings
    below: Resources | None = None
    """Of the corpus whose trees these are above, where they are."""

    @classmethod
    def of(
        cls,
        settings: Settings,
        home: Home,
        *,
        components: Components | None = None,
        scan: Scan | None = None,
        names: CorpusNames | None = None,
    ) -> Resources:
        """Resources that load nothing until they are used.

        ``names`` are those that the home's corpus has in Dagster, None for what it says itself.
        """
        names = home.names() if names is None else names
        made = ComponentsResource(settings, home, components)
        tables = TablesResource(settings, home)
        return cls(
            source=SourceResource(settings, tables, scan, home.followed if names.follows else None),
            components=made,
            tables=tables,
            store=StoreResource(settings, home, made),
            reports=ReportFolder(home.reports),
            golden=GoldenResource(settings, home),
            datasets=DatasetsResource(settings, home),
            turns=TurnsResource(home.turns),
            names=names,
            home=home,
            settings=settings,
        )

    def declare(self) -> None:
        """Say in the home what its corpus is called in Dagster, where it has a name.

        Raises:
            SettingsError: the home cannot be written.
        """
        if self.names.corpus:
            read = self.settings.model_copy(update={"source": self.source.settings})
            self.home.declare(self.names, read)

    def changes(
        self,
        records: Records,
        store_state: StoreState | None = None,
        inventory: Inventory | None = None,
    ) -> Changes:
        """What has to be built and dropped, see ``find_changes``; ``inventory`` is the source's.

        Raises:
            SourceError: as ``SourceResource.inventory``.
        """
        return find_changes(
            records,
            self.settings,
            self.source.inventory() if inventory is None else inventory,
            self.known,
            store_state,
            self.tables.curation(),
        )

    def known(self, partition: str) -> Iterable[Document]:
        """Documents that a partition was last built from."""
        table = self.tables.tables().find((DOCUMENTS,), partition)
        trees = {} if table is None else table_to_documents(table)
        return (document for found in trees.values() for document in found)
