"""Everything that a folder keeps, as bytes that can be searched."""


def kept_bytes(root):
    """Bytes of each file by path."""
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
