"""A corpus as a Dagster component: YAML that ``dg`` lists, checks and scaffolds."""

import warnings
from pathlib import Path
from typing import Any

import dagster as dg
from dagster.components import scaffold_with
from pydantic import BaseModel, Field

from raptor_assets.corpus.raptor_corpus import build_raptor_corpus
from raptor_assets.corpus.settings_schema import add_settings_schema

_ROOT = "{{ context.project_root }}"
"""The folder of the project, whatever the working directory is."""


class RaptorCorpusParams(BaseModel):
    """Parameters of ``dg scaffold``."""

    name: str = Field("corpus", description="Name of the corpus.")
    path: str = Field("documents", description="Folder of its documents; relative to the project.")


class RaptorCorpusScaffolder(dg.Scaffolder[RaptorCorpusParams]):
    """Scaffolder that writes a component over one folder."""

    @classmethod
    def get_scaffold_params(cls) -> type[RaptorCorpusParams]:
        """See ``dagster.Scaffolder``."""
        return RaptorCorpusParams

    def scaffold(self, request: dg.ScaffoldRequest[RaptorCorpusParams]) -> None:
        """See ``dagster.Scaffolder``."""
        name, path = request.params.name, request.params.path
        source = {"source": {"paths": [path if Path(path).is_absolute() else f"{_ROOT}/{path}"]}}
        home = f"{_ROOT}/.raptor/{name}"
        dg.scaffold_component(request, {"name": name, "home": home, "settings": source})


@scaffold_with(RaptorCorpusScaffolder)
class RaptorCorpusComponent(dg.Component, dg.Model, dg.Resolvable):
    """RAPTOR trees over a source of documents: built, checked, published and kept up to date."""

    name: str = Field(description="Name of the corpus; keys, jobs, sensor and partitions begin so.")
    settings: str | dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Settings by section, as in raptor.toml, or the path of such a file, relative "
        "to this one.",
        examples=[{"source": {"paths": ["handbook"]}, "chunking": {"max_tokens": 100}}],
        json_schema_extra=add_settings_schema,
    )
    home: str | None = Field(
        default=None,
        description="Folder of the corpus; by default one of its name in RAPTOR_HOME or .raptor.",
    )
    key_prefix: list[str] | None = Field(
        default=None, description="Prefix of all asset keys; by default the name."
    )
    upstream: str | None = Field(
        default=None,
        description="Key of the asset that gives the documents instead of a source, as team/pages.",
    )
    upstream_path: str | None = Field(
        default=None, description="Entry of the upstream's metadata with a file or folder to read."
    )
    chunks: str | None = Field(
        default=None, description="Key of the asset that gives the chunks, instead of upstream."
    )
    alert: str | None = Field(
        default=None,
        description="Function that gets alerts, as package.module:name; see docs/alerts.md.",
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the corpus; see ``build_raptor_corpus``."""
        is_path = isinstance(self.settings, str)
        definitions = build_raptor_corpus(
            self.name,
            Path(context.path) / str(self.settings) if is_path else None,
            home=self.home,
            key_prefix=self.key_prefix,
            upstream=self.upstream,
            upstream_path=self.upstream_path,
            chunks=self.chunks,
            alert=self.alert,
            **(self.settings if isinstance(self.settings, dict) else {}),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.PreviewWarning)
            return definitions.map_asset_specs(func=self.get_asset_spec)

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Return the spec of an asset; override it to change owners, tags, groups or descriptions.

        The key and the dependencies have to stay.

        Example:
            >>> class DocsCorpus(RaptorCorpusComponent):
            ...     def get_asset_spec(self, spec):
            ...         return spec.replace_attributes(group_name="docs")
        """
        return spec
