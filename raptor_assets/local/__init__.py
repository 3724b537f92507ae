"""A home without a Dagster project: builds in this process, forecast, status and transfer."""
