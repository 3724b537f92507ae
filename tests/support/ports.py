"""Ports for servers of the tests' own."""

import socket


def free_port() -> int:
    """A port on loopback that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
