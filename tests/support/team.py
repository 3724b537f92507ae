"""A team's project: an upstream asset, a corpus named wiki that follows it, and an instance."""

import dagster as dg
from support.workshop import NAMED_PARTS, SMALL

from raptor_assets import build_raptor_corpus

QUICK = {**SMALL, "components": {**SMALL["components"], **NAMED_PARTS}}


class Team:
    """An upstream asset, the corpus that follows it, and an instance."""

    def __init__(self, root, upstream, parameter="upstream", **options):
        self.home = root / "kept"
        self.instance = dg.DagsterInstance.ephemeral(str(root / "instance"))
        options = {**QUICK, **options, parameter: upstream}
        corpus = build_raptor_corpus("wiki", home=self.home, **options)
        self.definitions = dg.Definitions.merge(dg.Definitions(assets=[upstream]), corpus)
        self.cursor = None

    def materialize(self, key, **options):
        job = self.definitions.resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(
            instance=self.instance,
            asset_selection=[dg.AssetKey(key)],
            raise_on_error=False,
            **options,
        )
        failed = [event for event in done.all_events if event.is_step_failure]
        if failed:
            return failed[0].step_failure_data.error.cause.message
        (event,) = done.get_asset_materialization_events()
        metadata = event.materialization.metadata
        return {name: value.value for name, value in metadata.items()}

    def tick(self):
        """What the sensor says, and the partitions of the runs that it requests, which are run."""
        sensor = self.definitions.resolve_sensor_def("wiki_source_sensor")
        found = sensor(dg.build_sensor_context(self.instance, cursor=self.cursor))
        if isinstance(found, dg.SkipReason):
            return found.skip_message
        self.cursor = found.cursor
        return run_requested(found, self.definitions, self.instance)


def run_requested(found, definitions, instance):
    """Add the partitions and execute the runs that a sensor requests; return their partitions."""
    for request in found.dynamic_partitions_requests or ():
        instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
    for run in found.run_requests:
        job = definitions.resolve_job_def(run.job_name)
        assert job.execute_in_process(
            instance=instance, tags=run.tags, run_config=run.run_config
        ).success
    return [run.tags.get("raptor/build") for run in found.run_requests]


def follow(team):
    return team.materialize(["wiki", "source"])
