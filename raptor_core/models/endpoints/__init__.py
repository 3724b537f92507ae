"""One client for OpenAI-compatible endpoints: summarizer, reader and embedder all call it.

Every call goes through ``EndpointClient``: the key, timeouts, retries, the checks of an answer
and the count of what it took are in one place, and so will be rate limits and a circuit.
"""
