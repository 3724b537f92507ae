"""Tables of the paper that need no answering model, with the paper's figures."""
