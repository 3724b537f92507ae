"""Where documents come from: files, folders, tables, URLs, databases."""
