"""A corpus as a component: YAML that ``dg`` lists, checks and scaffolds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from dagster.components import scaffold_with
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import BaseModel, Field

from raptor_assets.project.corpus import build_raptor_corpus
from raptor_assets.specs import RaptorAsset, RaptorTranslator


class RaptorCorpusParams(BaseModel):
    """What ``dg scaffold`` asks for."""

    name: str = Field("corpus", description="Name of the corpus.")
    path: str = Field("documents", description="Folder of its documents.")


class RaptorCorpusScaffolder(dg.Scaffolder[RaptorCorpusParams]):
    """Writes a component over one folder."""

    @classmethod
    def get_scaffold_params(cls) -> type[RaptorCorpusParams]:
        """See ``dagster.Scaffolder``."""
        return RaptorCorpusParams

    def scaffold(self, request: dg.ScaffoldRequest[RaptorCorpusParams]) -> None:
        """See ``dagster.Scaffolder``."""
        source = {"source": {"paths": [request.params.path]}}
        dg.scaffold_component(request, {"name": request.params.name, "settings": source})


@dataclass(frozen=True)
class _Translation(RaptorTranslator):
    """What the YAML says of all assets, over what the corpus says."""

    translate: TranslationFn[RaptorAsset]

    def get_asset_spec(self, asset: RaptorAsset) -> dg.AssetSpec:
        return self.translate(asset.spec, asset)


@scaffold_with(RaptorCorpusScaffolder)
class RaptorCorpusComponent(dg.Component, dg.Model, dg.Resolvable):
    """RAPTOR trees over a source of documents: built, checked, published and kept up to date.

    Any number of them stand in one project, each under its own name.
    """

    name: str = Field(description="Name of the corpus; keys, jobs, sensor and partitions begin so.")
    settings: str | dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Settings by section, as in raptor.toml, or the path of such a file, relative "
        "to this one.",
        examples=[{"source": {"paths": ["handbook"]}, "chunking": {"max_tokens": 100}}],
    )
    home: str | None = Field(
        default=None,
        description="Folder of what the corpus keeps; otherwise one of its name in RAPTOR_HOME, or "
        "in .raptor.",
    )
    key_prefix: list[str] | None = Field(
        default=None, description="Of all asset keys; the name if none."
    )
    upstream: str | None = Field(
        default=None,
        description="Key of the asset that gives the documents, as team/pages, in place of a "
        "source in the settings.",
    )
    upstream_path: str | None = Field(
        default=None,
        description="Entry of the upstream's metadata that names a file or folder to read, in "
        "place of its value.",
    )
    translation: Annotated[
        TranslationFn[RaptorAsset] | None,
        TranslationFnResolver[RaptorAsset](
            lambda asset: {"name": asset.name, "layer": asset.layer}
        ),
        Field(
            default=None,
            description="Attributes of the assets; `name` and `layer` of each are at hand.",
            examples=[{"group_name": "docs", "tags": {"layer": "{{ layer }}"}}],
        ),
    ]

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of the corpus; see ``build_raptor_corpus``."""
        named = isinstance(self.settings, str)
        return build_raptor_corpus(
            self.name,
            Path(context.path) / str(self.settings) if named else None,
            home=self.home,
            key_prefix=self.key_prefix,
            translator=_Translation(self.translation) if self.translation else None,
            upstream=self.upstream,
            upstream_path=self.upstream_path,
            **(self.settings if isinstance(self.settings, dict) else {}),
        )
