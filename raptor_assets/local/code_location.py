"""Dagster definitions of a home."""

import warnings

import dagster as dg

from raptor_assets.corpus.raptor_corpus import define_corpus
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.shown.progress import Watch, ignore_progress
from raptor_core.settings import Settings, load_settings


def build_definitions(
    settings: Settings | None = None,
    home: Home | None = None,
    *,
    access: CorpusAccess | None = None,
    progress: Watch = ignore_progress,
) -> dg.Definitions:
    """Define a home's corpus, with an executor that keeps models loaded.

    Args:
        settings: None for the home's settings file, or the defaults where there is none.
        home: None for the folder that ``RAPTOR_HOME`` names, else ``.raptor``.
        access: replacement for the access of ``settings`` and ``home``.
        progress: callback for each step of a run in this process.
    """
    if access is None:
        home = home or Home.at()
        settings = settings or load_settings(
            home.settings_path if home.settings_path.exists() else None
        )
        access = CorpusAccess(settings, home)
    definitions = dg.Definitions.merge(
        define_corpus(access, progress=progress), dg.Definitions(executor=dg.in_process_executor)
    )
    with warnings.catch_warnings():
        # Resolving a sensor's jobs passes a parameter that is in beta and not used here.
        warnings.simplefilter("ignore", dg.BetaWarning)
        definitions.get_repository_def()
    return definitions
