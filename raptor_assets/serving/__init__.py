"""What a home publishes, for programs: over the Model Context Protocol and over HTTP."""
