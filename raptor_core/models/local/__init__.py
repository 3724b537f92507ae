"""Chat models that run in this process, by llama.cpp, from GGUF files.

``gguf`` reads the header of a file, ``records`` keeps digests, and ``engine`` loads a
model and serves it to ``raptor_core.models.endpoints``, which sends all requests. Read ``engine``
next.
"""
