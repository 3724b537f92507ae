"""Output for people: metadata, costs, Markdown, pages, lines of a terminal."""
