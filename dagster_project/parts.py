"""The resources of one home, for Dagster and for the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dagster_project.home import Home
from dagster_project.resources import (
    DatasetsResource,
    GoldenResource,
    SourceResource,
    StoreResource,
    TablesResource,
    ToolsResource,
)
from dagster_project.turns import TurnsResource
from raptor_assets import names
from raptor_assets.report_folder import ReportFolder
from raptor_core.documents import Document, Scan
from raptor_core.settings import Settings
from raptor_core.tables import table_to_documents
from raptor_core.tree.tools import Tools


@dataclass(frozen=True)
class Parts:
    """The resources of one home."""

    source: SourceResource
    tools: ToolsResource
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
        tools: Tools | None = None,
        scan: Scan | None = None,
    ) -> Parts:
        """Resources that load nothing until they are used."""
        made = ToolsResource(settings, home, tools)
        tables = TablesResource(settings, home)
        return cls(
            source=SourceResource(settings, tables, scan),
            tools=made,
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
