"""The laboratory, which reproduces the RAPTOR paper and compares other methods with it.

It contains the paper's tables and figures, baselines, answering models with their scores, judges on
labelled claims, and manual studies. It registers commands and systems as entry points. No other
package imports it. Read ``comparison/compare.py`` next.
"""
