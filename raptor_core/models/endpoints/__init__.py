"""Client of OpenAI-compatible endpoints, which every call of a model goes through."""
