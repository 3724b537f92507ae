"""A code location for Dagster's own daemon: the home of ``RAPTOR_HOME``, quick tools and ticks."""

from support.hashing import HashingEmbedder

from raptor_assets.project import sensors
from raptor_assets.project.home import Home
from raptor_assets.project.resources import Resources
from raptor_assets.standalone.code_location import build_definitions
from raptor_core.tree.components import Components

sensors.INTERVAL_SECONDS = 1

home = Home.at()
settings = home.load_settings()
components = Components(settings, embedder=HashingEmbedder())
defs = build_definitions(settings, home, resources=Resources(settings, home, components=components))
