"""One home on its own: its code location, builds without a daemon, status, forecast and transfer.

A corpus in a team's own Dagster project needs none of this but the command: see ``project``.
"""

CODE_LOCATION = "raptor_assets.standalone.definitions"
"""Module that Dagster loads for a home, and the name of that code location in its records."""
