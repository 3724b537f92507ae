"""Settings: models, presets, and loading from TOML and the environment."""

from raptor_core.settings.load import load_settings
from raptor_core.settings.models import (
    CheckSettings,
    ChunkingSettings,
    ClusteringSettings,
    EmbedderSettings,
    GroupingSettings,
    Part,
    ReaderSettings,
    RetrievalSettings,
    Settings,
    SourceSettings,
    StoreSettings,
    SummarizerSettings,
    TablesSettings,
    TokensSettings,
    TreeSettings,
)
from raptor_core.settings.presets import PRESETS, preset

__all__ = [
    "PRESETS",
    "CheckSettings",
    "ChunkingSettings",
    "ClusteringSettings",
    "EmbedderSettings",
    "GroupingSettings",
    "Part",
    "ReaderSettings",
    "RetrievalSettings",
    "Settings",
    "SourceSettings",
    "StoreSettings",
    "SummarizerSettings",
    "TablesSettings",
    "TokensSettings",
    "TreeSettings",
    "load_settings",
    "preset",
]
