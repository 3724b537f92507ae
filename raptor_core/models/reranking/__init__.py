"""Rerankers: models that score passages again, each together with the question.

``base.py`` has the interface and the endpoints, ``cross_encoder.py`` a class for local models.
"""
