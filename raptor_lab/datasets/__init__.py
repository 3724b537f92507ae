"""Data sets of questions with known answers, and loaders of their forms."""
