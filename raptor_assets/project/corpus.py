"""A corpus as Dagster definitions, which merge with any others."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import dagster as dg

from raptor_assets import keys
from raptor_assets.chain import build_chain
from raptor_assets.names import BUILD, SOURCE, SYNC
from raptor_assets.progress import Watch, ignore_progress
from raptor_assets.project.corpus_tree import corpus_tree_resources, corpus_tree_source_spec
from raptor_assets.project.followed import Upstream, build_source_asset
from raptor_assets.project.home import Home
from raptor_assets.project.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.project.jobs import build_asset_job, build_drop_job
from raptor_assets.project.resources import Resources
from raptor_assets.project.sensors import build_source_sensor
from raptor_assets.project.sync import build_sync_job
from raptor_assets.specs import (
    QDRANT,
    TABLES,
    RaptorTranslator,
    build_asset_specs,
    build_source_spec,
    corpus_specs,
)
from raptor_core.errors import SettingsError
from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings, load_settings, settings_of
from raptor_core.tree.custom_components import custom_fingerprints

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


def build_raptor_corpus(
    name: str,
    settings: Settings | str | Path | None = None,
    *,
    home: str | Path | None = None,
    key_prefix: str | Sequence[str] | None = None,
    translator: RaptorTranslator | None = None,
    upstream: Upstream | None = None,
    upstream_path: str | None = None,
    hooks: Collection[dg.HookDefinition] = (),
    **sections: Mapping[str, Any],
) -> dg.Definitions:
    """Return assets, checks, jobs, sensor, partitions and IO managers of a corpus, by its name.

    The definitions hold no executor, no ``io_manager`` and no resource of other corpora. They work
    on the instance that loads them, with its storage and its run launcher.

    Args:
        name: name of the corpus: letters, digits and underscores. Its jobs are ``NAME_sync``,
            ``NAME_build``, ``NAME_drop_partitions`` and ``NAME_evaluate``, its sensor
            ``NAME_source_sensor``, its partitions ``NAME_trees``, its pool ``NAME_builds``.
        settings: settings, or their TOML file; None for the defaults.
        home: folder of the corpus; None for a folder of its name in ``RAPTOR_HOME`` or ``.raptor``.
        key_prefix: prefix of all asset keys; None for the name.
        translator: sets each asset's key, group, owners, tags, kinds and description.
        upstream: asset with the documents, instead of ``source.paths``: a data frame, a list of
            rows or of documents, partitioned or not, which the asset ``source`` copies.
        upstream_path: entry of the upstream's metadata that names a file, folder or URL to read;
            None takes its value.
        hooks: hooks of every run of the corpus; ``failure_reason`` gives a failure's reason.
        sections: settings by section, over the others: ``source={"paths": ["handbook"]}``.

    Raises:
        SettingsError: the name or a setting is wrong, or the translator changed a fixed attribute.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} cannot name a corpus; take letters, digits and underscores, a letter first"
        )
    folder = Home.at(home) if home else Home(Home.at().path / name)
    resolved = folder.resolve(_settings(name, settings, sections), quick=True)
    if os.environ.get("DAGSTER_IS_DEFS_VALIDATION_CLI"):
        _check_paths(resolved, name)
    prefix = [name] if key_prefix is None else key_prefix
    defaults = _default_specs(resolved, follows=upstream is not None)
    names, specs = corpus_specs(defaults, name, lambda key: key.with_prefix(prefix), translator)
    resources = Resources(resolved, folder, names=names)
    _claim_places(resources)
    definitions = define_corpus(resources, specs, hooks=hooks)
    if upstream is None:
        return definitions
    source = build_source_asset(specs[keys.of(SOURCE)], upstream, upstream_path, resources)
    return dg.Definitions.merge(definitions, dg.Definitions(assets=[source.with_hooks(set(hooks))]))


def _check_paths(settings: Settings, corpus: str) -> None:
    """Raise a SettingsError for files and folders of the settings that are missing.

    Only Dagster's checks of definitions do so. A code location loads without them, since a disk may
    be mounted later.
    """
    named = [("source.paths", path) for path in settings.source.paths]
    named += [("checks.golden", settings.checks.golden)] if settings.checks.golden else []
    for setting, path in named:
        local = path.removeprefix("file://")
        if "://" in local or "::" in local or Path(local).expanduser().exists():
            continue
        raise SettingsError(
            f"corpus {corpus}: {setting} names {local!r}, which does not exist; make it, or "
            "correct the path"
        )


_owners: WeakValueDictionary[str, Resources] = WeakValueDictionary()
"""Corpora of this process, by each place that only one corpus may write."""


def _claim_places(resources: Resources) -> None:
    """Raise a SettingsError if another corpus of this process has a place of this one."""
    corpus, store = resources.names.corpus, resources.settings.store
    resources.home.check_owner(corpus)
    places = [f"home {resources.home.path.resolve()}"]
    places += [f"tables.url {url}" for url in [resources.settings.tables.url] if url]
    if store.kind == "server":
        places.append(f"store.corpus {store.corpus!r} at {store.url}")
    for place in places:
        owner = _owners.get(place, resources).names.corpus
        if owner != corpus:
            raise SettingsError(
                f"the corpora {owner!r} and {corpus!r} have the same {hide_credentials(place)}; "
                "give each a different one, or they would overwrite each other"
            )
        _owners[place] = resources


def define_corpus(
    resources: Resources,
    specs: Mapping[dg.AssetKey, dg.AssetSpec] | None = None,
    progress: Watch = ignore_progress,
    hooks: Collection[dg.HookDefinition] = (),
) -> dg.Definitions:
    """Return the definitions of a corpus; ``progress`` is called for each step of a run here."""
    settings, corpus = resources.settings, resources.names
    if specs is None:
        defaults = _default_specs(settings, follows=corpus.follows)
        _, specs = corpus_specs(defaults, corpus.corpus, lambda key: keys.shown(corpus, key))
    chain = keys.chain_keys(settings.tree.max_layers)
    chain_specs = [specs[key] for key in chain if key in specs]
    builds = build_chain(chain_specs, resources, progress)
    description = (
        "Build, check and publish the trees of the partitions chosen at launch. The job "
        f"{corpus.of(SYNC)} needs no choice: it finds those that changed."
    )
    op_jobs = [build_drop_job(resources), build_sync_job(resources, progress)]
    drop_job, sync_job = (job.with_hooks(set(hooks)) for job in op_jobs)
    jobs = [build_asset_job(corpus.of(BUILD), builds.keys, description), drop_job]
    definitions = dg.Definitions(
        assets=[builds.with_hooks(set(hooks))],
        jobs=[sync_job, *jobs],
        sensors=[build_source_sensor(resources, jobs)],
        resources={
            corpus.of(TABLES): TablesIOManager(resources),
            corpus.of(QDRANT): QdrantLayersIOManager(resources),
        },
    )
    if not settings.corpus_tree.enabled:
        return definitions
    source = dg.Definitions(assets=[corpus_tree_source_spec(corpus)])
    above = define_corpus(corpus_tree_resources(resources), hooks=hooks)
    return dg.Definitions.merge(definitions, source, above)


def _default_specs(settings: Settings, *, follows: bool) -> list[dg.AssetSpec]:
    source = [build_source_spec()] if follows else []
    return [*source, *build_asset_specs(settings, custom_fingerprints(settings), follows=follows)]


def _settings(
    name: str, basis: Settings | str | Path | None, sections: Mapping[str, Mapping[str, Any]]
) -> Settings:
    """Load settings, with paths relative to their file, or else to the working folder."""
    file = Path(basis) if basis and not isinstance(basis, Settings) else None
    settings = basis if isinstance(basis, Settings) else load_settings(file)
    settings = settings_of(settings, sections, f"corpus {name}")
    folder = Path() if file is None else file.parent
    store, checks = settings.store, settings.checks
    if "corpus" not in store.model_fields_set:
        store = store.model_copy(update={"corpus": name})
    if checks.golden is not None:
        golden = str((folder / checks.golden).expanduser().absolute())
        checks = checks.model_copy(update={"golden": golden})
    return settings.model_copy(update={"store": store, "checks": checks})
