"""Settings: models, presets, and loading from TOML and the environment."""

from raptor_core.settings.base import BudgetSettings, EndpointPart, Part, PriceSettings
from raptor_core.settings.checks import AuditSettings, CheckSettings
from raptor_core.settings.load import PRESETS, load_settings, preset, settings_of, with_preset
from raptor_core.settings.models import (
    ChunkingSettings,
    ComponentsSettings,
    EmbedderSettings,
    EvaluationSettings,
    GroupingSettings,
    ReaderSettings,
    ReportSettings,
    RunsSettings,
    Settings,
    SummarizerSettings,
    TablesSettings,
    TokensSettings,
)
from raptor_core.settings.retrieval import HybridSettings, RetrievalSettings
from raptor_core.settings.sources import DatabaseTable, SourceSettings
from raptor_core.settings.stores import StoreSettings
from raptor_core.settings.trees import (
    ClusteringSettings,
    CorpusSettings,
    RebuildSettings,
    TreeSettings,
)

__all__ = [
    "PRESETS",
    "AuditSettings",
    "BudgetSettings",
    "CheckSettings",
    "ChunkingSettings",
    "ClusteringSettings",
    "ComponentsSettings",
    "CorpusSettings",
    "DatabaseTable",
    "EmbedderSettings",
    "EndpointPart",
    "EvaluationSettings",
    "GroupingSettings",
    "HybridSettings",
    "Part",
    "PriceSettings",
    "ReaderSettings",
    "RebuildSettings",
    "ReportSettings",
    "RetrievalSettings",
    "RunsSettings",
    "Settings",
    "SourceSettings",
    "StoreSettings",
    "SummarizerSettings",
    "TablesSettings",
    "TokensSettings",
    "TreeSettings",
    "load_settings",
    "preset",
    "settings_of",
    "with_preset",
]
