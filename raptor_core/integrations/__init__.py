"""Retrievers for LangChain and LlamaIndex, each with an extra of its name. Read ``base`` next.

Both classes are called ``RaptorRetriever``, because an application uses one framework.
"""
