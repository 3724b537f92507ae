"""The laboratory: what reproduces the RAPTOR paper and compares with it.

Here are the paper's tables and figures, baselines, readers with the scores of their answers,
labelled judges, and studies by hand. It registers its commands and systems as entry points. Nothing
imports it, and nothing needs it to build, check, publish or query. Comparing strategies on one's
own questions is in ``raptor_core.evaluation``. Read ``paper/study.py`` next.
"""
