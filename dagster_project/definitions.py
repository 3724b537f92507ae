"""The code location: what ``dagster dev`` and the workspace load."""

from dagster_project.build import build_definitions

defs = build_definitions()
