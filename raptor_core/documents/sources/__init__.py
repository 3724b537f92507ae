"""Sources of documents: files, folders, tables, URLs, databases."""
