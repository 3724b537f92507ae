"""What all tests share."""

import hypothesis

# A deadline would be a timing assertion: the first example often pays an import.
hypothesis.settings.register_profile("raptor", deadline=None)
hypothesis.settings.load_profile("raptor")
