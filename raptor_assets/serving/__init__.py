"""Servers of the published trees: HTTP and the Model Context Protocol. Read ``answers`` first."""
