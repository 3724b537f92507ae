"""A corpus as Dagster definitions that merge with any others, as often as wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import dagster as dg

from raptor_assets import keys
from raptor_assets.chain import build_chain
from raptor_assets.datasets import build_dataset_assets, build_dataset_specs
from raptor_assets.names import SOURCE
from raptor_assets.progress import Watch, ignore_progress
from raptor_assets.project.corpus_tree import corpus_tree_resources, corpus_tree_source_spec
from raptor_assets.project.followed import Upstream, build_source_asset
from raptor_assets.project.home import Home
from raptor_assets.project.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.project.jobs import BUILD, EVALUATE, build_asset_job, build_drop_job
from raptor_assets.project.resources import Resources
from raptor_assets.project.sensors import build_source_sensor
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
    **sections: Mapping[str, Any],
) -> dg.Definitions:
    """Assets, checks, jobs, sensor, partitions and IO managers of one corpus, all under its name.

    The definitions hold no executor, no ``io_manager`` and no resource that is not the corpus's
    own. They work on the instance that loads them, with its storage and its run launcher.

    Args:
        name: of the corpus: letters, digits and underscores. Its jobs are ``NAME_build``,
            ``NAME_drop_partitions`` and ``NAME_evaluate``, its sensor ``NAME_source_sensor``, its
            partitions ``NAME_trees``, its pool ``NAME_builds``.
        settings: settings, or their TOML file; None for the defaults.
        home: folder of what the corpus keeps; None for a folder of its name in what
            ``RAPTOR_HOME`` names, or in ``.raptor``.
        key_prefix: of all asset keys; None for the name.
        translator: gives each asset its key, group, owners, tags, kinds and description.
        upstream: asset that gives the documents, in place of ``source.paths``: a data frame, a list
            of rows or of documents, partitioned or not. The asset ``source`` of the corpus takes
            them over whenever it is materialized.
        upstream_path: entry of the upstream's metadata that names a file, folder or URL to read;
            None takes its value.
        sections: settings by section, over the others: ``source={"paths": ["handbook"]}``.

    Raises:
        SettingsError: the name or a setting is wrong, or the translator changed what it may not.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} cannot name a corpus; take letters, digits and underscores, a letter first"
        )
    folder = Home.at(home) if home else Home(Home.at().path / name)
    given = folder.resolve_precision(_settings(name, settings, sections), quick=True)
    prefix = [name] if key_prefix is None else key_prefix
    own = _own_specs(given, follows=upstream is not None)
    names, specs = corpus_specs(own, name, lambda key: key.with_prefix(prefix), translator)
    resources = Resources(given, folder, names=names)
    _claim_places(resources)
    definitions = define_corpus(resources, specs)
    if upstream is None:
        return definitions
    source = build_source_asset(specs[keys.of(SOURCE)], upstream, upstream_path, resources)
    return dg.Definitions.merge(definitions, dg.Definitions(assets=[source]))


_owners: WeakValueDictionary[str, Resources] = WeakValueDictionary()
"""Corpora that this process has defined, by each place that one corpus alone may write."""


def _claim_places(resources: Resources) -> None:
    """Refuse a corpus whose home, tables or collection another one of this process has.

    Before the first run nothing in the home says whose it is, so a home that was copied from one
    definition to the next is found here.

    Raises:
        SettingsError: another corpus has one of them; it is named.
    """
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
                "give each its own, or they would overwrite each other"
            )
        _owners[place] = resources


def define_corpus(
    resources: Resources,
    specs: Mapping[dg.AssetKey, dg.AssetSpec] | None = None,
    progress: Watch = ignore_progress,
) -> dg.Definitions:
    """The definitions of a corpus.

    Args:
        resources: of its home; they know its settings and names.
        specs: by the chain's own keys; None for those that the names alone make.
        progress: told of each step of a run in this process.
    """
    settings, corpus = resources.settings, resources.names
    if specs is None:
        own = _own_specs(settings, follows=corpus.follows)
        _, specs = corpus_specs(own, corpus.corpus, lambda key: keys.shown(corpus, key))
    evaluations = build_dataset_assets(specs, resources)
    chain_specs = [specs[key] for key in keys.chain_keys(settings.tree.max_layers)]
    chain = build_chain(chain_specs, resources, progress)
    told = "Build, check and publish the trees of the partitions chosen at launch."
    jobs = [build_asset_job(corpus.of(BUILD), chain.keys, told), build_drop_job(resources)]
    told = "Measure retrieval on the data sets of the settings."  # nothing launches it
    measuring = [build_asset_job(corpus.of(EVALUATE), evaluations, told)] if evaluations else []
    definitions = dg.Definitions(
        assets=[chain, *evaluations],
        jobs=[*jobs, *measuring],
        sensors=[build_source_sensor(resources, jobs)],
        resources={
            corpus.of(TABLES): TablesIOManager(resources),
            corpus.of(QDRANT): QdrantLayersIOManager(resources),
        },
    )
    if not settings.corpus_tree.enabled:
        return definitions
    source = dg.Definitions(assets=[corpus_tree_source_spec(corpus)])
    above = define_corpus(corpus_tree_resources(resources))
    return dg.Definitions.merge(definitions, source, above)


def _own_specs(settings: Settings, *, follows: bool) -> list[dg.AssetSpec]:
    source = [build_source_spec()] if follows else []
    custom = custom_fingerprints(settings)
    chain = build_asset_specs(settings, custom, follows=follows)
    return [*source, *chain, *build_dataset_specs(settings, custom)]


def _settings(
    name: str, given: Settings | str | Path | None, sections: Mapping[str, Mapping[str, Any]]
) -> Settings:
    """Files that they name are looked for beside their file, or else from the working folder."""
    file = Path(given) if given and not isinstance(given, Settings) else None
    settings = given if isinstance(given, Settings) else load_settings(file)
    settings = settings_of(settings, sections, f"corpus {name}")
    beside = Path() if file is None else file.parent
    store, checks, evaluation = settings.store, settings.checks, settings.evaluation
    if "corpus" not in store.model_fields_set:
        store = store.model_copy(update={"corpus": name})

    def placed(path: str) -> str:
        return str((beside / path).expanduser().absolute())

    if checks.golden is not None:
        checks = checks.model_copy(update={"golden": placed(checks.golden)})
    datasets = {called: placed(path) for called, path in evaluation.datasets.items()}
    evaluation = evaluation.model_copy(update={"datasets": datasets})
    changed = {"store": store, "checks": checks, "evaluation": evaluation}
    return settings.model_copy(update=changed)
