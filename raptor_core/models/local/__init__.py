"""Chat models that run in this process with llama.cpp, from GGUF files.

``files`` checks and identifies files. ``engine`` loads a model for
``raptor_core.models.endpoints``, which sends all requests. Read ``engine`` next.
"""
