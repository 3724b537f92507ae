"""One HTML page that shows a tree, or the trees of a partition: to explore, search and check."""
