"""Engines that keep nodes: Edge and local mode in a folder, Qdrant on a server."""
