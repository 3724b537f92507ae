"""A code location for Dagster's own daemon: the home of ``RAPTOR_HOME``, quick tools and ticks."""

from support.hashing import HashingEmbedder

from raptor_assets.corpus import sensor
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.local.code_location import build_definitions
from raptor_core.tree.components import Components

sensor.INTERVAL_SECONDS = 1

home = Home.at()
settings = home.load_settings()
components = Components(settings, embedder=HashingEmbedder())
defs = build_definitions(settings, home, access=CorpusAccess(settings, home, components=components))
