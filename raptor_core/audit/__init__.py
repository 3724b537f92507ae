"""Whether summaries say what their children say: sampling, judges, findings."""
