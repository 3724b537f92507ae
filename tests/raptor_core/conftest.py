"""A stand-in endpoint for each test that asks for one."""

import pytest
from support.openai_server import FakeOpenAI


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake
