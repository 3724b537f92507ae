"""Whether retrieval finds what a team knows to be the answer."""
