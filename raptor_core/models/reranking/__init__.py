"""Rerankers: models that read a question with each passage, and order the passages anew.

``base.py`` has the interface and the endpoints, ``cross_encoder.py`` a class for local models.
"""
