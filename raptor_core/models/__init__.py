"""Everything that calls models: embedding, summarizing, reading, reranking, endpoints, and cost."""
