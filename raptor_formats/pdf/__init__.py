"""PDF files: the lines of their pages, the blocks that these form, and sections."""
