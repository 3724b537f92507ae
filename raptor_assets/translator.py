"""How a team gives the assets of a corpus its own keys, groups, owners, tags and descriptions."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg

from raptor_assets import names


@dataclass(frozen=True, slots=True)
class RaptorAsset:
    """An asset of a corpus, with the spec that it has unless a translator gives it another.

    ``name`` is the chain's own, such as "documents", "layer_1/summaries" or "tree".
    """

    corpus: str
    name: str
    spec: dg.AssetSpec

    @property
    def layer(self) -> int:
        """The layer that it belongs to; 0 for leaves, and for what belongs to no layer."""
        return names.layer_of(self.name)


class RaptorTranslator:
    """Gives each asset of a corpus its spec; subclass it, and change what the team wants."""

    def get_asset_spec(self, asset: RaptorAsset) -> dg.AssetSpec:
        """The spec of an asset.

        Key, group, description, owners, tags, kinds, metadata and automation condition may be
        others than those of ``asset.spec``; what builds depend on may not.
        """
        return asset.spec
