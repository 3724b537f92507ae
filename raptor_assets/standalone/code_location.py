"""Dagster definitions of a home."""

import warnings

import dagster as dg

from raptor_assets.progress import Watch, ignore_progress
from raptor_assets.project.corpus import define_corpus
from raptor_assets.project.home import Home
from raptor_assets.project.resources import Resources
from raptor_core.settings import Settings, load_settings


def build_definitions(
    settings: Settings | None = None,
    home: Home | None = None,
    *,
    resources: Resources | None = None,
    progress: Watch = ignore_progress,
) -> dg.Definitions:
    """Define a home's corpus, with an executor that keeps models loaded.

    Args:
        settings: None for the home's settings file, or the defaults where there is none.
        home: None for the folder that ``RAPTOR_HOME`` names, else ``.raptor``.
        resources: replacement for the resources of ``settings`` and ``home``.
        progress: callback for each step of a run in this process.
    """
    if resources is None:
        home = home or Home.at()
        settings = settings or load_settings(home.settings if home.settings.exists() else None)
        resources = Resources(home.resolve(settings, quick=True), home)
    definitions = dg.Definitions.merge(
        define_corpus(resources, progress=progress), dg.Definitions(executor=dg.in_process_executor)
    )
    with warnings.catch_warnings():
        # Resolving a sensor's jobs passes a parameter that is in beta and not used here.
        warnings.simplefilter("ignore", dg.BetaWarning)
        definitions.get_repository_def()
    return definitions
