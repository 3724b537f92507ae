"""The tables of the paper, as far as they can be made without a reader, beside its own figures."""
