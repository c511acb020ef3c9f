"""Programs that broke once stay right."""

import pytest
from corpus import CORPUS
from references import check


def test_there_are_programs():
    assert len(CORPUS) >= 10


@pytest.mark.parametrize("program", CORPUS, ids=str)
def test_program(program):
    check(program)
