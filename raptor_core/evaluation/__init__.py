"""Evaluation of retrieval on questions with known answers.

It compares strategies on one's own questions and measures golden sets. What reproduces the paper is
in ``raptor_lab``. Read ``compare.py`` first.
"""
