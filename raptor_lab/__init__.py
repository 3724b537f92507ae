"""Laboratory that reproduces the RAPTOR paper and compares with it.

It holds the paper's tables and figures, baselines, readers with scores of answers, labelled judges,
and studies by hand, and registers commands and systems as entry points. No other package imports
it. Read ``comparison/compare.py`` next.
"""
