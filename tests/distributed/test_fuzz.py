"""A few random programs of each run: many are tried by hand (:mod:`tests.distributed.fuzz`)."""

import pytest

from tests.distributed.fuzz_statements import BLOCKS, SINGLE, STATEMENTS
from tests.distributed.ranks import run

COUNT = 4


@pytest.fixture(scope="module")
def two():
    return run("tests.distributed.fuzz", 2, "--count", str(COUNT))


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_program(two, seed):
    assert two[f"fuzz_{seed}_2"]["passes"], two


def test_statements_have_distinct_texts():
    texts = [*STATEMENTS.values(), *SINGLE.values(), *BLOCKS.values()]
    assert len(set(texts)) == len(texts)
