"""Code location of a home, which `raptor ui` and servers load; see ``code_location``."""

from raptor_assets.local.code_location import build_definitions
from raptor_assets.shown.terminal import install_clean_streams

install_clean_streams()  # processes of `raptor ui` log names and errors to its terminal
defs = build_definitions()
