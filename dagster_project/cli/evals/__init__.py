"""One module per subcommand of `raptor eval`, each with the name `command`."""
