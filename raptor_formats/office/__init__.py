"""Office files and EPUB, which are archives of XML files."""
