"""A code location for Dagster's own daemon: the home of ``RAPTOR_HOME``, quick tools and ticks."""

from support.hashing import HashingEmbedder

from dagster_project import sensors
from dagster_project.build import build_definitions
from dagster_project.home import Home
from dagster_project.parts import Parts
from raptor_core.tree.tools import Tools

sensors.INTERVAL_SECONDS = 1

home = Home.at()
settings = home.load_settings()
tools = Tools(settings, embedder=HashingEmbedder())
defs = build_definitions(settings, home, parts=Parts.of(settings, home, tools=tools))
