"""HTML, Markdown, reStructuredText, plain text and subtitles."""
