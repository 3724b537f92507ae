"""Vector stores: Qdrant embedded, local and remote behind one Protocol."""
