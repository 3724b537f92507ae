"""Files and rows as documents; the parsers of the formats are in ``raptor_formats``."""
