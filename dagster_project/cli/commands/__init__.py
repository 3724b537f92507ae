"""One module per command, each with the name `command`."""
