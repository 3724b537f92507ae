"""Definitions that ``workspace.yaml`` and ``dagster dev`` load from this repository."""

from raptor_assets.local.definitions import defs

__all__ = ["defs"]
