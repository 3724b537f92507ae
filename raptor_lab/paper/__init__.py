"""Tables of the paper that need no reader, with the paper's figures."""
