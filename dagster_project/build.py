"""Everything that Dagster loads, assembled by one function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

import dagster as dg

from raptor_assets.chain import Progress, build_chain
from raptor_assets.datasets import build_dataset_assets
from raptor_assets.project.home import Home
from raptor_assets.project.home_resources import Resources
from raptor_assets.project.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.project.jobs import build_drop_job, build_evaluate_jobs, build_job
from raptor_assets.project.resources import ignore_progress
from raptor_assets.project.sensors import build_source_sensor
from raptor_assets.project.store_look import StoreLook
from raptor_assets.specs import QDRANT, TABLES
from raptor_core.settings import Settings, load_settings


def build_definitions(
    settings: Settings | None = None,
    home: Home | None = None,
    *,
    resources: Resources | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
    assets: Iterable[dg.AssetsDefinition] = (),
) -> dg.Definitions:
    """The chain, its checks, evaluations, jobs, sensor, resources and IO managers.

    Args:
        settings: None for the home's settings file, or the defaults where there is none.
        home: None for what ``RAPTOR_HOME`` names, else ``.raptor``.
        resources: in place of those that settings and home would make.
        progress: told of each step of a run in this process.
        assets: further assets, for example of the team's own downstream of the chain.

    Raises:
        SettingsError: the settings file or the environment is wrong; it says where.
    """
    home = home or Home.at()
    settings = settings or load_settings(home.settings if home.settings.exists() else None)
    resources = resources or Resources.of(settings, home)
    chain = build_chain(settings)
    evaluations = build_dataset_assets(settings)
    jobs = [build_job(chain), build_drop_job(settings)]
    look = StoreLook(settings, home, resources.components)
    tables = TablesIOManager(resources.tables)
    definitions = dg.Definitions(
        assets=[chain, *evaluations, *assets],
        jobs=[*jobs, *build_evaluate_jobs(evaluations)],
        sensors=[build_source_sensor(settings, resources.source, resources.known, look, jobs)],
        executor=dg.in_process_executor,
        resources={
            "source": resources.source,
            "components": resources.components,
            "tables": resources.tables,
            "store": resources.store,
            "reports": resources.reports,
            "golden": resources.golden,
            "datasets": resources.datasets,
            "turns": resources.turns,
            "progress": progress,
            TABLES: tables,
            QDRANT: QdrantLayersIOManager(resources.tables, resources.store, resources.components),
            "io_manager": tables,
        },
    )
    with warnings.catch_warnings():
        # Resolving a sensor's jobs hands on a parameter that is in beta and not used here.
        warnings.simplefilter("ignore", dg.BetaWarning)
        definitions.get_repository_def()
    return definitions
