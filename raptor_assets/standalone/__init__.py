"""A home without a Dagster project: code location, builds, status, forecast and transfer.

A corpus in a team's Dagster project is in ``project``, which uses nothing of this. Read ``execute``
first.
"""

CODE_LOCATION = "raptor_assets.standalone.definitions"
"""Module that Dagster loads for a home, and the name of that code location in its records."""
