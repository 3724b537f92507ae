"""The code location of a home, as `raptor ui` and a server load it; see ``code_location``."""

from raptor_assets.standalone.code_location import build_definitions

defs = build_definitions()
