"""A corpus in a Dagster project: its home, resources, records, IO managers, jobs and sensor."""
