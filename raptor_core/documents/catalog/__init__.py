"""What was read before, so that only what changed is read again."""
