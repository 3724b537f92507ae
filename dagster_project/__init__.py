"""The Dagster project: definitions, resources, IO managers, jobs, sensors, and the command."""
