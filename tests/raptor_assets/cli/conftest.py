"""The home that all tests of commands share."""

from support.island_home import built, bundled_model, own, snapshot

__all__ = ["built", "bundled_model", "own", "snapshot"]
