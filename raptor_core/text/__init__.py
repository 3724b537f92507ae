"""Words, stems, scripts without spaces and ends of sentences, for all rooms; see ``words``."""
