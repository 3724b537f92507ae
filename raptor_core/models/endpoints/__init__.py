"""Client of OpenAI-compatible endpoints and local chat models. Read ``client`` next."""
