"""The code location: what ``dagster dev`` and the workspace load."""

from dagster_project.build import build_definitions
from dagster_project.cli.terminal import clean_streams

clean_streams()  # processes of `raptor ui` log names and errors to its terminal
defs = build_definitions()
