"""Golden sets: questions with known answers, on which the published trees are measured.

``golden_file.py`` reads a set, ``golden.py`` measures it. Comparisons of strategies are in
``raptor_lab``.
"""
