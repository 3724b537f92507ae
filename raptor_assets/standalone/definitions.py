"""Code location of a home, which `raptor ui` and servers load; see ``code_location``."""

from raptor_assets.cli.terminal import clean_streams
from raptor_assets.standalone.code_location import build_definitions

clean_streams()  # processes of `raptor ui` log names and errors to its terminal
defs = build_definitions()
