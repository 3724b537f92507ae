"""Checks of the quality of documents, layers, trees and the store.

``base`` defines what a check is, and ``registry`` lists them; every other module contains some.
"""
