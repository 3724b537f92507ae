"""The sensor as Dagster's daemon evaluates it, and its runs as the queue starts them."""

import dagster as dg


class Daemon:
    """Ticks of the sensor, as the daemon makes them: keys added, cursor and run keys kept."""

    def __init__(self, workshop):
        self.workshop = workshop
        self.cursor = None
        self.run_keys = set()
        self.requests = []

    def run(self):
        """Execute what the last tick requested, in the order of the queue; whether all went well.

        Each run has definitions and resources of its own, as a run in a process of its own has.
        """
        succeeded = []
        for request in self.requests:
            with self.workshop.instance() as instance:
                job = self.workshop.definitions().resolve_job_def(request.job_name)
                result = job.execute_in_process(
                    instance=instance,
                    run_config=request.run_config,
                    tags=request.tags,
                    raise_on_error=False,
                )
            succeeded.append(result.success)
        self.requests = []
        return all(succeeded)

    def settle(self):
        """Tick and run until nothing is requested; names built and dropped."""
        all_built, all_dropped = [], []
        for _ in range(5):
            builds, dropped, _ = self.tick()
            if not builds and not dropped:
                break
            all_built += [name for names in builds for name in names]
            all_dropped += dropped
            assert self.run()
        return all_built, all_dropped

    def tick(self):
        """Names of the partitions to build, and those to drop; a skip reason comes third."""
        with self.workshop.instance() as instance:
            definitions = self.workshop.definitions()
            context = dg.build_sensor_context(instance, cursor=self.cursor)
            result = definitions.resolve_sensor_def("source_sensor")(context)
            if isinstance(result, dg.SkipReason):
                return [], [], result.skip_message
            self.cursor = result.cursor
            for request in result.dynamic_partitions_requests:
                instance.add_dynamic_partitions("trees", list(request.partition_keys))
        fresh = [r for r in result.run_requests or [] if r.run_key not in self.run_keys]
        self.run_keys |= {request.run_key for request in fresh}
        self.requests = fresh
        builds = [named for r in fresh if (named := partitions_of(r, "raptor/build"))]
        dropped = [name for r in fresh for name in partitions_of(r, "raptor/drop")]
        reason = result.skip_reason.skip_message if result.skip_reason else ""
        return builds, dropped, reason


def partitions_of(request, tag):
    """The partitions that a tag of a requested run names."""
    return request.tags[tag].split(", ") if tag in request.tags else []
