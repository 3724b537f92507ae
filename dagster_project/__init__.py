"""Code location of this repository."""
