"""Programs that broke once stay right."""

import pytest
from corpus import CORPUS
from references import Parts, check, check_forward

PARTS = Parts(CORPUS)


def test_there_are_programs():
    assert len(CORPUS) >= 10


@pytest.mark.parametrize("program", CORPUS, ids=str)
def test_program(program):
    PARTS.compile(program)
    check(program)


@pytest.mark.parametrize("program", [p for p in CORPUS if "both" in p.tags], ids=str)
def test_forward(program):
    check_forward(program)
