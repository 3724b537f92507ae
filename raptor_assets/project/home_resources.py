"""The resources of one home, for Dagster and for the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from raptor_assets import names
from raptor_assets.project.home import Home
from raptor_assets.project.resources import (
    ComponentsResource,
    DatasetsResource,
    GoldenResource,
    SourceResource,
    StoreResource,
    TablesResource,
)
from raptor_assets.project.turns import TurnsResource
from raptor_assets.report_folder import ReportFolder
from raptor_core.documents import Document, Scan
from raptor_core.settings import Settings
from raptor_core.tables import table_to_documents
from raptor_core.tree.components import Components


@dataclass(frozen=True)
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

    @classmethod
    def of(
        cls,
        settings: Settings,
        home: Home,
        *,
        components: Components | None = None,
        scan: Scan | None = None,
    ) -> Resources:
        """Resources that load nothing until they are used."""
        made = ComponentsResource(settings, home, components)
        tables = TablesResource(settings, home)
        return cls(
            source=SourceResource(settings, tables, scan),
            components=made,
            tables=tables,
            store=StoreResource(settings, home, made),
            reports=ReportFolder(home.reports),
            golden=GoldenResource(settings, home),
            datasets=DatasetsResource(settings, home),
            turns=TurnsResource(home.turns),
        )

    def known(self, partition: str) -> Iterable[Document]:
        """Documents that a partition was last built from."""
        table = self.tables.tables().find((names.DOCUMENTS,), partition)
        trees = {} if table is None else table_to_documents(table)
        return (document for found in trees.values() for document in found)
