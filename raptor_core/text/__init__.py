"""Words, stems, scripts without spaces, and sentence ends, for all rooms; see ``words``."""
