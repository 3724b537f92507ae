"""Chat models that run in this process, by llama.cpp, from GGUF files.

``records`` checks files and keeps their digests. ``engine`` loads a model and serves it to
``raptor_core.models.endpoints``, which sends all requests. Read ``engine`` next.
"""
