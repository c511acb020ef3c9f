"""Partial sums: long reductions with few results are split in two stages."""

from dataclasses import replace

import pytest
from treetext import block, program, text

from sdgrad.config import config
from sdgrad.optimize.gpu.partial_sums import share_sums
from sdgrad.program.naming import all_names


@pytest.fixture(autouse=True)
def thresholds(monkeypatch):
    machine = replace(config.machine, gpu_partial_sums=64, gpu_split_terms=1000, gpu_busy_elements=100)
    monkeypatch.setattr(config, "machine", machine)


def shared(source, symbols=""):
    given = program(source, symbols=symbols)
    return share_sums(given, all_names(given))


DOT = """
    argument x: float64[{n}]
    argument s: float64[{m}]
    body
      map {head}:
        v = x[i]
        w = v * v
        s[{index}] += w
"""


def test_a_long_sum_is_split():
    found = shared(DOT.format(n=4000, m=1, head="i=0:4000", index="0"))
    assert text(found) == block("""
        map lane=0:64, turn=0:int_floor(3999 - lane, 64) + 1:
          v = x[lane + 64*turn]
          w = v * v
          part_s[lane] += w (fresh)
        map lane=0:64:
          v_0 = part_s[lane]
          s[0] += v_0
    """)
    assert found.containers["part_s"].shape == (64,)


def test_results_number_the_partial_sums():
    found = shared("""
        argument A: float64[2000, 3]
        argument s: float64[4]
        body
          map i=0:2000, k=0:3:
            v = A[i, k]
            s[k + 1] += v (fresh)
    """)
    assert text(found) == block("""
        map k=0:3, lane=0:64, turn=0:int_floor(1999 - lane, 64) + 1:
          v = A[lane + 64*turn, k]
          part_s[k, lane] += v (fresh)
        map k=0:3, lane=0:64:
          v_0 = part_s[k, lane]
          s[k + 1] += v_0 (fresh)
    """)
    assert found.containers["part_s"].shape == (3, 64)


def test_other_stores_stay_in_the_nest():
    found = shared("""
        argument x: float64[4000]
        argument y: float64[4000]
        argument s: float64[1]
        body
          map i=0:4000:
            v = x[i]
            s[0] += v
            y[i] = v
    """)
    assert text(found).endswith(
        block("""
            map i=0:4000:
              v = x[i]
              y[i] = v
        """)
    )


@pytest.mark.parametrize(
    ("case", "sizes"),
    [
        ("short", {"n": 100, "m": 1, "head": "i=0:100", "index": "0"}),
        ("symbolic", {"n": "n", "m": 1, "head": "i=0:n", "index": "0"}),
        ("many results", {"n": 4000, "m": 200, "head": "j=0:200, i=0:4000", "index": "j"}),
        ("no reduction", {"n": 4000, "m": 4000, "head": "i=0:4000", "index": "i"}),
    ],
)
def test_other_reductions_are_not_split(case, sizes):
    source = DOT.format(**sizes)
    assert text(shared(source)) == text(program(source)), case


def test_reduced_parameters_move_innermost():
    source = DOT.format(n=100, m=200, head="i=0:100, j=0:200", index="j")
    assert text(shared(source)).startswith("map j=0:200, i=0:100:")


def test_a_nest_that_reads_its_results_is_not_split():
    source = DOT.format(n=4000, m=1, head="i=0:4000", index="0").replace("x[i]", "s[0]")
    assert text(shared(source)) == text(program(source))
