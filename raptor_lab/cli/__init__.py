"""Commands of the laboratory, which `raptor eval` finds by entry points."""
