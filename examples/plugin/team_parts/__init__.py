"""Components of a team, one in each module; ``raptor.toml`` names them by import path.

Each is a class that is called with the settings. A fingerprint changes whenever results change, so
that whatever an earlier version made is made again.
"""
