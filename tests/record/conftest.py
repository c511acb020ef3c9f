"""Everything in this folder is about the recorder."""

import pytest

from sdgrad.config import config


@pytest.fixture(autouse=True)
def recorder():
    with config.override(frontend="record"):
        yield
