"""A corpus as Dagster definitions, which merge with any others."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import dagster as dg

from raptor_assets.assets.names import BUILD, SYNC, CorpusNames
from raptor_assets.assets.specs import QDRANT, TABLES, build_asset_specs
from raptor_assets.chain.run import build_chain
from raptor_assets.corpus.alerts import Alert, build_alert_sensor
from raptor_assets.corpus.corpus_tree import build_top_nodes_spec
from raptor_assets.corpus.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.corpus.jobs import build_asset_job, build_drop_job
from raptor_assets.corpus.sensor import build_source_sensor
from raptor_assets.corpus.sync import build_sync_job
from raptor_assets.corpus.upstream import Upstream, build_source_asset
from raptor_assets.corpus.version_jobs import build_version_jobs
from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_assets.home.folder import Home
from raptor_assets.shown.progress import Watch, ignore_progress
from raptor_core.errors import SettingsError
from raptor_core.import_paths import import_object
from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings, load_settings, override_settings
from raptor_core.tree.custom_components import custom_fingerprints

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


def build_raptor_corpus(
    name: str,
    settings: Settings | str | Path | None = None,
    *,
    home: str | Path | None = None,
    key_prefix: str | Sequence[str] | None = None,
    upstream: Upstream | None = None,
    upstream_path: str | None = None,
    chunks: Upstream | None = None,
    alert: Callable[[Alert], Any] | str | None = None,
    **sections: Mapping[str, Any],
) -> dg.Definitions:
    """Return assets, checks, jobs, sensor, partitions and IO managers of a corpus, by its name.

    The definitions hold no executor, no ``io_manager`` and no resource of other corpora. They work
    on the instance that loads them, with its storage and its run launcher.

    Args:
        name: name of the corpus: letters, digits and underscores. Its jobs are ``NAME_sync``,
            ``NAME_build``, ``NAME_drop_partitions``, ``NAME_rollback`` and ``NAME_approve``, its
            sensor ``NAME_source_sensor``, its partitions ``NAME_trees``, its pool ``NAME_builds``.
        settings: settings, or their TOML file; None for the defaults.
        home: folder of the corpus; None for a folder of its name in ``RAPTOR_HOME`` or ``.raptor``.
        key_prefix: prefix of all asset keys; None for the name.
        upstream: asset with the documents, instead of ``source.paths``: a data frame, a list of
            rows or of documents, partitioned or not, which the asset ``source`` copies.
        upstream_path: entry of the upstream's metadata that names a file, folder or URL to read;
            None takes its value.
        chunks: asset with the chunks, instead of ``upstream``: a data frame or a list of rows with
            ``id``, ``document``, ``position`` and ``text``. No chunker cuts the documents.
        alert: function, or its import path "package.module:name", that the sensor ``NAME_alerts``
            calls with what is wrong; None for no such sensor.
        sections: settings by section, over the others: ``source={"paths": ["handbook"]}``.

    Raises:
        SettingsError: the name or a setting is wrong, or another corpus has a place of this one.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} cannot name a corpus; take letters, digits and underscores, a letter first"
        )
    if chunks is not None and (upstream is not None or upstream_path):
        raise SettingsError(
            f"corpus {name}: chunks and upstream are both named; name only the asset of the chunks"
        )
    followed = upstream if chunks is None else chunks
    folder = Home.at(home) if home else Home(Home.at().path / name)
    prefix = [key_prefix] if isinstance(key_prefix, str) else key_prefix or [name]
    names = CorpusNames(name, "/".join(prefix), has_upstream=followed is not None)
    access = CorpusAccess(_load_settings(name, settings, sections), folder, names=names)
    _claim_places(access)
    definitions = [define_corpus(access)]
    if alert:
        send = import_object(alert, f'alert = "{alert}"') if isinstance(alert, str) else alert
        definitions.append(dg.Definitions(sensors=[build_alert_sensor(access, send)]))
    if followed is not None:
        source = build_source_asset(followed, upstream_path, access, of_chunks=chunks is not None)
        definitions.append(dg.Definitions(assets=[source]))
    return dg.Definitions.merge(*definitions)


_owners: WeakValueDictionary[str, CorpusAccess] = WeakValueDictionary()
"""Corpora of this process, by the place to which only one of them may write."""


def _claim_places(access: CorpusAccess) -> None:
    """Raise a SettingsError if another corpus of this process writes to the same place."""
    corpus, store = access.names.corpus, access.settings.store
    access.home.check_owner(corpus)
    places = [f"home {access.home.path.resolve()}"]
    places += [f"tables.url {url}" for url in [access.settings.tables.url] if url]
    if store.kind == "server":
        places.append(f"store.corpus {store.corpus!r} at {store.url}")
    for place in places:
        owner = _owners.get(place, access).names.corpus
        if owner != corpus:
            raise SettingsError(
                f"the corpora {owner!r} and {corpus!r} have the same {hide_credentials(place)}; "
                "give each a different one, or they would overwrite each other"
            )
        _owners[place] = access


def define_corpus(access: CorpusAccess, progress: Watch = ignore_progress) -> dg.Definitions:
    """Return the definitions of a corpus; runs in this process call ``progress`` at each step."""
    settings, corpus = access.settings, access.names
    fingerprints = custom_fingerprints(settings)
    specs = build_asset_specs(settings, fingerprints, corpus, access.n_summary_layers)
    builds = build_chain(specs, access, progress)
    description = (
        "Build, check and publish the trees of the partitions chosen at launch. The job "
        f"{corpus.full_name(SYNC)} needs no choice: it finds those that changed."
    )
    sync = build_sync_job(access, progress)
    build = build_asset_job(corpus, BUILD, builds.keys, description)
    definitions = dg.Definitions(
        assets=[builds],
        jobs=[sync, build, build_drop_job(access), *build_version_jobs(access)],
        sensors=[build_source_sensor(access, sync)],
        resources={
            corpus.full_name(TABLES): TablesIOManager(access),
            corpus.full_name(QDRANT): QdrantLayersIOManager(access),
        },
    )
    if not settings.corpus_tree.enabled:
        return definitions
    source = dg.Definitions(assets=[build_top_nodes_spec(corpus)])
    above = define_corpus(corpus_tree_access(access))
    return dg.Definitions.merge(definitions, source, above)


def _load_settings(
    name: str, basis: Settings | str | Path | None, sections: Mapping[str, Mapping[str, Any]]
) -> Settings:
    """Load settings, with paths relative to their file, or else to the working folder."""
    file = Path(basis) if basis and not isinstance(basis, Settings) else None
    settings = basis if isinstance(basis, Settings) else load_settings(file)
    settings = override_settings(settings, sections, f"corpus {name}")
    folder = Path() if file is None else file.parent
    store, checks = settings.store, settings.checks
    if "corpus" not in store.model_fields_set:
        store = store.model_copy(update={"corpus": name})
    if checks.golden is not None:
        golden = str((folder / checks.golden).expanduser().absolute())
        checks = checks.model_copy(update={"golden": golden})
    return settings.model_copy(update={"store": store, "checks": checks})
