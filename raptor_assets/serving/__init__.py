"""Servers of the published trees: HTTP and Model Context Protocol. Read ``answers`` first."""
