"""Checks of the quality of documents, layers, trees and the store.

``base`` says what a check is, ``registry`` lists them; each other module holds some of them.
"""
