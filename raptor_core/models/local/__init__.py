"""Chat models that run in this process, by llama.cpp, from GGUF files.

``files`` checks files and tells them apart. ``engine`` loads a model and serves it to
``raptor_core.models.endpoints``, which sends all requests. Read ``engine`` next.
"""
