"""What is answered once while code is generated is what DaCe answers."""

import dace
import pytest
from dace.frontend import operations
from dace.libraries.blas.nodes import batched_matmul, gemm
from dace.sdfg import utils
from dace.sdfg.state import LoopRegion

from sdgrad.runtime.compile.codegen_answers import answers_once


def looped() -> dace.SDFG:
    sdfg = dace.SDFG("looped")
    first = sdfg.add_state("first", is_start_block=True)
    loop = LoopRegion("loop", "i < 3", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop)
    sdfg.add_edge(first, loop, dace.InterstateEdge())
    inner, meet = loop.add_state("inner", is_start_block=True), loop.add_state("meet")
    for name in ("left", "right"):
        loop.add_edge(inner, side := loop.add_state(name), dace.InterstateEdge())
        loop.add_edge(side, meet, dace.InterstateEdge())
    sdfg.add_edge(loop, sdfg.add_state("last"), dace.InterstateEdge())
    return sdfg


def found(sdfg: dace.SDFG) -> tuple[dict, ...]:
    of_blocks: tuple[dict, ...] = ({}, {}, {}, {})
    utils.get_control_flow_block_dominators(sdfg, *of_blocks)
    return of_blocks


@pytest.fixture
def calls(monkeypatch):
    seen, find = [], utils.get_control_flow_block_dominators
    monkeypatch.setattr(utils, "get_control_flow_block_dominators", lambda s, *a: seen.append(s) or find(s, *a))
    return seen


def test_dominators_once_for_each_graph(calls):
    one, other = looped(), looped()
    expected = found(one)
    del calls[:]
    with answers_once():
        first = found(one)
        first[1].setdefault(one.start_block, set()).add("what DaCe adds")
        assert found(one) == expected
        found(other)
    assert calls == [one, other]
    found(one)
    assert len(calls) == 3


REDUCTIONS = [
    *("lambda x, y: x + y", "lambda a, b: a * b", "lambda x, y: y + x", "lambda x, y: x + 2 * y", "lambda x, y: x + x"),
    *(
        "lambda x, y: max(x, y)",
        "lambda x, y: min(x, y)",
        "lambda x, y: y",
        "lambda x, y: x - y",
        "lambda x, y: x and y",
    ),
    *(None, ""),
]


@pytest.mark.parametrize("openmp", [False, True])
@pytest.mark.parametrize("text", REDUCTIONS)
def test_kinds_of_reductions(text, openmp):
    expected = operations.detect_reduction_type(text, openmp)
    with answers_once():
        assert [operations.detect_reduction_type(text, openmp) for _ in range(2)] == [expected] * 2


def test_kinds_of_reductions_without_openmp_are_not_those_with():
    text = "lambda x, y: x - y"
    with answers_once():
        kinds = [operations.detect_reduction_type(text, openmp) for openmp in (True, False)]
    assert kinds == [dace.ReductionType.Sub, dace.ReductionType.Custom]


N, M = dace.symbol("N"), dace.symbol("M")


@pytest.mark.parametrize("module", [gemm, batched_matmul])
@pytest.mark.parametrize("sizes", [(3, 3), (3, 4), (N, N), (N, M), (N + 1, N), (2 * N, N + N), (N, 3)])
def test_sizes(module, sizes):
    expected = module.equal(*sizes)
    with answers_once():
        assert module.equal(*sizes) is expected
