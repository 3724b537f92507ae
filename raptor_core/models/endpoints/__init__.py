"""One client for OpenAI-compatible endpoints, which every call of a model goes through."""
