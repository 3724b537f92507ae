"""The `raptor` command. Imports nothing heavy, so that help is instant."""

from dagster_project.cli.app import main

__all__ = ["main"]
