"""The project of docs/dagster.md with quick ticks; PROJECT_FILE names its file."""

import importlib.util
import os

from raptor_assets.corpus import sensor

sensor.INTERVAL_SECONDS = 1

spec = importlib.util.spec_from_file_location("page_project", os.environ["PROJECT_FILE"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
defs = module.defs
