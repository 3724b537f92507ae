"""The `raptor` command; imports nothing heavy, so that help is instant."""

from raptor_assets.cli.app import main

__all__ = ["main"]
