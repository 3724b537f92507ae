"""Output for people: metadata, costs, Markdown, pages, terminal lines."""
