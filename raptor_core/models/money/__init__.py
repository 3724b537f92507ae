"""Cost of model calls: usage, prices, estimates, and the budget of a run.

``usage`` has the values and the estimates; ``ledger`` counts and limits the calls of a run.
"""
