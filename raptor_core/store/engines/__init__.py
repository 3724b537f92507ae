"""Engines that store the nodes: Qdrant Edge in a folder, or a Qdrant server."""
