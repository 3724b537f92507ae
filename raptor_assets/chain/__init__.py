"""A run of the chain: context, state of partitions, steps, and the events that Dagster logs."""
