"""PDF: lines of a page, the blocks that they print, and sections."""
