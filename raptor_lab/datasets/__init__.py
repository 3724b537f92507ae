"""Data sets of questions with reference answers, and a loader for each of their formats."""
