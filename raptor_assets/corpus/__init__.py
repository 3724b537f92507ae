"""A corpus in a team's Dagster project: definitions, changes, jobs, sensor, IO managers."""
