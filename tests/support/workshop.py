"""A home with a small source in a temporary folder, and what Dagster recorded of it."""

from __future__ import annotations

import json
import random
import weakref
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
from support.clusterers import FOURS
from support.hashing import HashingEmbedder
from support.quick_dagster import make_dagster_quick
from support.word_judge import WordJudge

from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.local.build import BuildReport, build, drop_partitions
from raptor_assets.local.code_location import build_definitions
from raptor_assets.local.dagster import open_instance_and_clean_up
from raptor_core.settings import Settings
from raptor_core.store import Manifest
from raptor_core.tree.components import Components

make_dagster_quick()

WORDS = [
    *("river", "mountain", "castle", "dragon", "engine", "window", "paper", "forest", "winter"),
    *("summer", "candle", "silver", "bridge", "garden", "market", "ocean", "thunder", "library"),
    *("harbour", "meadow", "lantern", "copper", "violin", "desert"),
]

SMALL = {
    "chunking": {"max_tokens": 24},
    "components": FOURS,
    "tree": {"max_layers": 1},
    "store": {"lock_seconds": 0.2},
}
"""Settings of small, quick trees."""

TWO_LAYERS = {"tree": {"max_layers": 2}}
"""Settings of trees with summaries of summaries."""

NAMED_PARTS = {
    **FOURS,
    "embedder": "support.hashing:HashingEmbedder",
    "judge": "support.word_judge:WordJudge",
}
"""Components that load no model, for settings that a process of its own reads."""


def settings_text(docs: Path, **parts: Any) -> str:
    """A settings file of small, quick trees over a folder, with ``parts`` over them."""
    small = {part: SMALL[part] for part in ("chunking", "components")}
    values = {"source": {"paths": [str(docs)]}, **small, "tree": {"max_layers": 1}}
    for part, given in parts.items():
        values[part] = {**values.get(part, {}), **given}
    if "method" in values.get("clustering", {}):
        values["components"] = {**values["components"], "clusterer": ""}
    lines = [
        f"[{part}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
        for part, given in values.items()
    ]
    return "".join(lines)


def prose(n_sentences: int, seed: int = 0) -> str:
    """Sentences of nine random words, two to a paragraph."""
    rng = random.Random(seed)
    sentences = [
        " ".join(rng.choice(WORDS) for _ in range(9)).capitalize() + "." for _ in range(n_sentences)
    ]
    return "\n\n".join(" ".join(sentences[at : at + 2]) for at in range(0, n_sentences, 2))


class Workshop:
    """One home, its source folder ``docs``, and components that every build shares."""

    def __init__(
        self, root: Path, components: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        self.docs = root / "docs"
        self.docs.mkdir(parents=True, exist_ok=True)
        self.home = Home(root / ".raptor")
        self.parts_given = components or {}
        self.embedder = HashingEmbedder()
        self.configure(**settings)

    def configure(self, **settings: Any) -> None:
        """Change settings; the store and the record stay."""
        values = {"source": {"paths": [str(self.docs)]}, **SMALL}
        for part, given in settings.items():
            values[part] = {**values.get(part, {}), **given}
        if "method" in values.get("clustering", {}):
            values["components"] = {**values["components"], "clusterer": ""}
        self.settings = Settings.model_validate(values)
        given = {"embedder": self.embedder, **self.parts_given}
        if not {"audit", "components"} & settings.keys():
            given.setdefault("judge", WordJudge())
        self.components = Components(self.settings, **given)

    def write(self, name: str, text: str) -> None:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def remove(self, name: str) -> None:
        (self.docs / name).unlink()

    def build(self, *partitions: str, **options: Any) -> BuildReport:
        chosen = partitions or None
        return build(self.home, self.settings, chosen, components=self.components, **options)

    def drop(self, *partitions: str) -> BuildReport:
        return drop_partitions(self.home, self.settings, partitions)

    def instance(self) -> Any:
        return open_instance_and_clean_up(self.home)

    @cached_property
    def _records(self) -> dg.DagsterInstance:
        """An instance to look things up in: opening one takes as long as a build.

        It is not entered, for Dagster then takes it for the one that all definitions are loaded by.
        """
        self.home.create_folders_and_instance()
        opened = dg.DagsterInstance.from_config(str(self.home.dagster_home))
        weakref.finalize(self, opened.dispose)
        return opened

    def access(self) -> CorpusAccess:
        return CorpusAccess(self.settings, self.home, components=self.components)

    def definitions(self, **options: Any) -> dg.Definitions:
        options.setdefault("access", self.access())
        return build_definitions(self.settings, self.home, **options)

    def materialization(self, key: str, partition: str) -> dg.AssetMaterialization:
        """The latest one of an asset's partition."""
        asset = dg.AssetKey(key.split("/"))
        found = self._records.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[partition]), limit=1
        )
        return found.records[0].asset_materialization

    def metadata(self, key: str, partition: str) -> dict[str, Any]:
        """Values of the latest materialization's metadata."""
        found = self.materialization(key, partition).metadata
        return {name: value.value for name, value in found.items()}

    def data_version(self, key: str, partition: str) -> str:
        return self.materialization(key, partition).tags["dagster/data_version"]

    def partitions(self) -> list[str]:
        return list(self._records.get_dynamic_partitions("trees"))

    def manifests(self) -> dict[str, Manifest]:
        """What readers see, by tree."""
        with self.access().store.open() as store:
            return {manifest.tree: manifest for manifest in store.manifests()}

    def texts(self, tree: str) -> set[str]:
        """Texts of the live nodes of a tree."""
        with self.access().store.open() as store:
            return {node.text for node in store.nodes() if node.tree == tree}


def live(workshop: Workshop) -> tuple[str, set[str]]:
    """All that readers can see, as one text; and the trees."""
    with workshop.access().store.open() as store:
        nodes = list(store.nodes())
        text = "\n".join(f"{node.text} {node.source} {node.documents}" for node in nodes)
        return text, {manifest.tree for manifest in store.manifests()}
