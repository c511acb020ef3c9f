"""What differentiated programs look like (fused, kept, created, called), and how long differentiation takes."""

import time

import dace
import numpy as np
import pytest
from dace import Memlet
from dace.config import set_temporary

import sdgrad
from sdgrad.autodiff.differentiate import Differentiated, differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.optimize import optimize
from sdgrad.pipeline import differentiate
from sdgrad.program.emit import emit
from sdgrad.program.tree import NodeCall, walk
from sdgrad.specialize.signature import Signature


def differentiated(function, *args) -> Differentiated:
    names = function.__code__.co_varnames[: len(args)]
    signature = Signature.of(function, dict(zip(names, args, strict=True)))
    return differentiate_program(signature.program, Request(names, signature.outputs, accumulate=False))


def body(result: Differentiated) -> str:
    return str(result.program).partition("  body\n")[2]


def chain(x):
    y = np.sin(x)
    z = y * x
    return np.sum(np.exp(z))


CHAIN = """\
    map __i0=0:8:
      v_x = x[__i0]
      v = sin(v_x)
      v_0 = v * v_x
      v_1 = exp(v_0)
      sum_expr[0] += v_1 (fresh)
    do:
      v_sum_expr = sum_expr[0]
      __return[0] = v_sum_expr
    do:
      g___return = cotangent___return[0]
      gradient_sum_expr[0] = g___return
    map __i0=0:8:
      v_x = x[__i0]
      v = sin(v_x)
      v_0 = v * v_x
      v_1 = exp(v_0)
      g_sum_expr = gradient_sum_expr[0]
      g = v_1 * g_sum_expr
      g_0 = v_x * g
      g_1 = v * g
      g_2 = cos(v_x) * g_0
      g_3 = g_1 + g_2
      gradient_x[__i0] = g_3"""


def doubled(A):
    A[:] = A * 2.0


DOUBLED = """\
    map __i0=0:8:
      v_A = A[__i0]
      v = v_A * 2.0
      A[__i0] = v
    map i0=0:8:
      v_0 = cotangent_A[i0]
      cotangent_A_work[i0] = v_0
    map __i0=0:8:
      g_A = cotangent_A_work[__i0]
      g = 2.0 * g_A
      cotangent_A_work[__i0] = g
    map i0_0=0:8:
      v_1 = cotangent_A_work[i0_0]
      gradient_A[i0_0] = v_1"""


def exponential(A):
    A[:] = np.exp(A)


EXPONENTIAL = """\
    map __i0=0:8:
      v_A = A[__i0]
      v = exp(v_A)
      A[__i0] = v
    map i0=0:8:
      v_0 = cotangent_A[i0]
      cotangent_A_work[i0] = v_0
    map __i0=0:8:
      v = A[__i0]
      g_A = cotangent_A_work[__i0]
      g = v * g_A
      cotangent_A_work[__i0] = g
    map i0_0=0:8:
      v_1 = cotangent_A_work[i0_0]
      gradient_A[i0_0] = v_1"""


def sine(A):
    A[:] = np.sin(A)


SINE = """\
    map __i0=0:8:
      v_A = A[__i0]
      tape_A[__i0] = v_A
    map __i0=0:8:
      v_A = A[__i0]
      v = sin(v_A)
      A[__i0] = v
    map i0=0:8:
      v_0 = cotangent_A[i0]
      cotangent_A_work[i0] = v_0
    map __i0=0:8:
      v_A = tape_A[__i0]
      g_A = cotangent_A_work[__i0]
      g = cos(v_A) * g_A
      cotangent_A_work[__i0] = g
    map i0_0=0:8:
      v_1 = cotangent_A_work[i0_0]
      gradient_A[i0_0] = v_1"""


def square_sum(A):
    return np.sum(A * A)


SQUARE_SUM = """\
    map __i0=0:8:
      v_A = A[__i0]
      v = v_A * v_A
      sum_A_A[0] += v (fresh)
    do:
      v_sum_A_A = sum_A_A[0]
      __return[0] = v_sum_A_A
    do:
      g___return = cotangent___return[0]
      gradient_sum_A_A[0] = g___return
    map __i0=0:8:
      v_A = A[__i0]
      g_sum_A_A = gradient_sum_A_A[0]
      g = 2 * v_A * g_sum_A_A
      gradient_A[__i0] = g"""


def ignores(x, y):
    z = np.sin(y)  # noqa: F841
    return np.sum(x)


IGNORES = """\
    map __i0=0:8:
      v_x = x[__i0]
      sum_x[0] += v_x (fresh)
    do:
      v_sum_x = sum_x[0]
      __return[0] = v_sum_x
    do:
      g___return = cotangent___return[0]
      gradient_sum_x[0] = g___return
    map __i0=0:8:
      g_sum_x = gradient_sum_x[0]
      gradient_x[__i0] = g_sum_x
    map i0=0:8:
      v = 0
      gradient_y[i0] = v"""


def neighbours(A):
    return A[:-1] * A[1:]


NEIGHBOURS = """\
    map __i0=0:7:
      v_A = A[__i0]
      v_A_0 = A[__i0 + 1]
      v = v_A * v_A_0
      __return[__i0] = v
    map i0=0:8:
      v_0 = 0
      gradient_A[i0] = v_0
    map __i0=0:7:
      v_A = A[__i0]
      v_A_0 = A[__i0 + 1]
      g___return = cotangent___return[__i0]
      g = v_A_0 * g___return
      g_0 = v_A * g___return
      gradient_A[__i0] += g
      gradient_A[__i0 + 1] += g_0"""


def layer(A, x, b):
    return np.tanh(A @ x + b)


LAYER = """\
    map __i0=0:4, __i1=0:5:
      v_A = A[__i0, __i1]
      v_x = x[__i1]
      v_0 = 1 * v_A * v_x
      A_matmul_x[__i0] += v_0 (fresh)
    map __i0_0=0:4:
      v_A_matmul_x = A_matmul_x[__i0_0]
      v_b = b[__i0_0]
      v_1 = v_A_matmul_x + v_b
      v_2 = tanh(v_1)
      __return[__i0_0] = v_2
    map __i0_0=0:4:
      v_2 = __return[__i0_0]
      g___return = cotangent___return[__i0_0]
      g = (1 - v_2 * v_2) * g___return
      gradient_A_matmul_x[__i0_0] = g
      gradient_b[__i0_0] = g
    map __i0=0:4, __i1=0:5:
      v_A = A[__i0, __i1]
      v_x = x[__i1]
      g_A_matmul_x = gradient_A_matmul_x[__i0]
      g_0 = v_x * g_A_matmul_x
      g_1 = v_A * g_A_matmul_x
      gradient_A[__i0, __i1] = g_0
      gradient_x[__i1] += g_1 (fresh)"""

V, M = np.ones(8), np.ones((4, 5))
PRINTED = {  # function: arguments, program, containers of the tape
    chain: ((V,), CHAIN, []),
    doubled: ((V,), DOUBLED, []),
    exponential: ((V,), EXPONENTIAL, []),
    sine: ((V,), SINE, ["tape_A"]),
    square_sum: ((V,), SQUARE_SUM, []),
    ignores: ((V, V), IGNORES, []),
    neighbours: ((V,), NEIGHBOURS, []),
    layer: ((M, np.ones(5), np.ones(4)), LAYER, []),
}


@pytest.mark.parametrize("function", PRINTED, ids=lambda f: f.__name__)
def test_program_as_text(function):
    args, wanted, tape = PRINTED[function]
    result = differentiated(function, *args)
    assert body(result) == wanted
    assert [c.name for c in result.plan.containers] == tape


def test_an_input_without_influence_has_no_adjoint():
    """On a graph, where gradients are added to, nothing at all is done for it; nor for what it computes."""
    result = differentiated(ignores, V, V)
    assert "gradient_z" not in result.program.containers
    sdfg = dace.SDFG("without_influence")
    for name in "ABC":
        sdfg.add_array(name, [4], dace.float64)
    loads, stores = {"x": Memlet("A[i]"), "w": Memlet("B[i]")}, {"y": Memlet("C[i]")}
    code = "y = x * x if w > 0 else 0"
    sdfg.add_state().add_mapped_tasklet("square", {"i": "0:4"}, loads, code, stores, external_edges=True)
    result = differentiate(sdfg, Request(("A", "B"), ("C",)))
    assert "gradient_B =" not in body(result)
    assert "gradient_B[" not in body(result)


# Products ---------------------------------------------------------------------------------------------


def product(A, B):
    return A @ B


def calls(program) -> list[NodeCall]:
    return [n for n in walk(program.body) if isinstance(n, NodeCall)]


def test_large_products_are_library_calls_forward_and_backward():
    result = differentiated(product, np.ones((300, 200)), np.ones((200, 400)))
    program = optimize(result.program)
    found = calls(program)
    assert [c.kind for c in found] == ["MatMul"] * 3
    operands = [{program.root(r.container) for r in c.inputs.values()} for c in found[1:]]
    assert sorted(map(sorted, operands)) == [["A", "cotangent___return"], ["B", "cotangent___return"]]
    targets = [{program.root(r.container) for r in c.outputs.values()} for c in found]
    assert targets[0] == {"__return"}
    assert sorted(map(sorted, targets[1:])) == [["gradient_A"], ["gradient_B"]]


def test_small_products_are_loops():
    assert calls(optimize(differentiated(product, np.ones((3, 4)), np.ones((4, 2))).program)) == []


# Accumulation -----------------------------------------------------------------------------------------


def column_sums(A, x):
    return np.sum(A * A, axis=0) * x


def maxima(A, x):
    return np.max(A, axis=1) + np.prod(A * 0.5, axis=1) * np.mean(x)


def scattered(A, x):
    B = np.zeros(8)
    for i in dace.map[0:20]:
        B[i % 8] += x[i] * x[i]
    return B * np.sum(A)


def gathered(A, x):
    B = np.zeros(20)
    for i in dace.map[0:20]:
        B[i] = x[i // 3] * A[i % 4, i % 5]
    return B


def broadcast(A, x):
    return np.sin(A * x) + np.sum(x)


def convolved(A, x):
    return np.sum(A) * (x[:-2] * 2.0 + x[1:-1] * x[2:])


REDUCTIONS = {
    column_sums: (M, np.ones(5)),
    maxima: (M, np.ones(5)),
    scattered: (M, np.ones(20)),
    gathered: (M, np.ones(20)),
    broadcast: (M, np.ones(5)),
    convolved: (M, np.ones(20)),
    product: (np.ones((20, 20)), np.ones((20, 20))),
    layer: (M, np.ones(5), np.ones(4)),
}


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
def test_generated_code_has_no_atomic(function):
    """Sums have a fixed order, so results are the same at every run."""
    sdfg = emit(optimize(differentiated(function, *REDUCTIONS[function]).program))
    sources = [code.code for code in sdfg.generate_code() if code.language == "cpp"]
    assert any("__program" in code for code in sources)
    assert not any("atomic" in code.lower() for code in sources)


def test_the_same_numbers_at_every_run():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((4, 5)), rng.standard_normal(5)
    pullback = sdgrad.vjp(broadcast, A, x)[1]
    first = pullback(np.ones((4, 5)))
    for _ in range(3):
        assert all(np.array_equal(a, b) for a, b in zip(first, pullback(np.ones((4, 5))), strict=True))


# Time -------------------------------------------------------------------------------------------------


def chained(count: int) -> dace.SDFG:
    """A graph of ``count`` statements on arrays: elementwise, in place, shifted, and a reduction now and then."""
    sdfg = dace.SDFG(f"chained_{count}")
    sdfg.add_array("x", [50], dace.float64)
    sdfg.add_array("result", [1], dace.float64)
    for name in "yt":
        sdfg.add_transient(name, [50], dace.float64)
    sdfg.add_transient("s", [1], dace.float64)
    last = None

    def statement(target: str, text: str, shift: int = 0, wcr: str | None = None) -> None:
        nonlocal last
        state = sdfg.add_state()
        if last is not None:
            sdfg.add_edge(last, state, dace.InterstateEdge())
        last = state
        names = {"a": "t", "b": "x" if target == "y" and not shift else "y", "c": "s"}
        index = {"t": f"i + {shift}", "x": "i", "y": "i", "s": "0", "result": "0"}
        reads = {k: Memlet(f"{n}[{index[n]}]") for k, n in names.items() if k in text.replace("dace", "")}
        write = {"o": Memlet(f"{target}[{index[target]}]", wcr=wcr)}
        state.add_mapped_tasklet("s", {"i": f"0:{50 - shift}"}, reads, f"o = {text}", write, external_edges=True)

    statement("y", "b * 1.0")
    statement("t", "b * b")
    for k in range(count):
        if k % 4 == 3:
            statement("s", "0.0")
            statement("s", "b", wcr="lambda x, y: x + y")
            statement("t", "a * c")
        else:
            statement(*(("t", "sin(a) * b"), ("t", "a * b", 1), ("y", "b + a * 0.5"))[k % 4])
    statement("result", "0.0")
    statement("result", "a * b", wcr="lambda x, y: x + y")
    return sdfg


def seconds(sdfg: dace.SDFG) -> float:
    start = time.process_time()
    differentiate(sdfg, Request(("x",), ("result",)))
    return time.process_time() - start


def test_differentiation_takes_linear_time():

    with set_temporary("compiler", "lineinfo", value="none"):  # looking it up on the stack takes a while
        short, long = (chained(count) for count in (60, 240))
    seconds(short)  # imports and caches
    few, many = seconds(short), seconds(long)
    assert few < 3
    assert many < 12
    assert many / few < 8
