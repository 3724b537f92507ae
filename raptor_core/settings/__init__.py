"""Settings: a model for each section, presets, and loading from TOML and the environment."""

from raptor_core.settings.base import BudgetSettings, EndpointSettings, PriceSettings
from raptor_core.settings.checks import AuditSettings, CheckSettings
from raptor_core.settings.load import PRESETS, load_settings, override_settings, preset, with_preset
from raptor_core.settings.models import (
    ChunkingSettings,
    CorpusTreeGrouping,
    EmbedderSettings,
    GroupingSettings,
    RunsSettings,
    Settings,
    SummarizerSettings,
)
from raptor_core.settings.sources import DatabaseTable, ReaderRule, SourceSettings
from raptor_core.settings.stores import StoreSettings

__all__ = [
    "PRESETS",
    "AuditSettings",
    "BudgetSettings",
    "CheckSettings",
    "ChunkingSettings",
    "CorpusTreeGrouping",
    "DatabaseTable",
    "EmbedderSettings",
    "EndpointSettings",
    "GroupingSettings",
    "PriceSettings",
    "ReaderRule",
    "RunsSettings",
    "Settings",
    "SourceSettings",
    "StoreSettings",
    "SummarizerSettings",
    "load_settings",
    "override_settings",
    "preset",
    "with_preset",
]
