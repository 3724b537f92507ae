"""Checks of the quality of documents, layers, trees and the store.

``checks`` says what a check is, ``registry`` lists them; each other module holds some of them.
Invariants whose breach is a defect of the program are in ``raptor_core.tree.invariants``.
"""
