"""The reader: answers from retrieved context, with citations."""
