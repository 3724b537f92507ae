"""A stand-in endpoint for each test; files with another kind have a fixture of their own."""

import pytest
from support.openai_server import FakeOpenAI


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake
