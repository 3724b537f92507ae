"""The Model Context Protocol: what a home publishes, as tools of a language model."""
