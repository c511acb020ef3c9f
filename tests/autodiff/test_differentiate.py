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
    map i0=0:8:
      v = x[i0]
      v_0 = sin(v)
      v_3 = v_0 * v
      v_5 = exp(v_3)
      t_2[0] += v_5 (fresh)
    do:
      v_7 = t_2[0]
      __return[0] = v_7
    do:
      g___return = cotangent___return[0]
      gradient_t_2[0] = g___return
    map i0=0:8:
      v = x[i0]
      v_0 = sin(v)
      v_3 = v_0 * v
      v_5 = exp(v_3)
      g_t_2 = gradient_t_2[0]
      g = v_5 * g_t_2
      g_0 = v * g
      g_1 = v_0 * g
      g_2 = cos(v) * g_0
      g_3 = g_1 + g_2
      gradient_x[i0] = g_3"""


def doubled(A):
    A[:] = A * 2.0


DOUBLED = """\
    map i0=0:8:
      v = A[i0]
      v_0 = v * 2
      A[i0] = v_0
    map i0_0=0:8:
      v_1 = cotangent_A[i0_0]
      cotangent_A_work[i0_0] = v_1
    map i0=0:8:
      g_A = cotangent_A_work[i0]
      g = 2 * g_A
      cotangent_A_work[i0] = g
    map i0_1=0:8:
      v_2 = cotangent_A_work[i0_1]
      gradient_A[i0_1] = v_2"""


def exponential(A):
    A[:] = np.exp(A)


EXPONENTIAL = """\
    map i0=0:8:
      v = A[i0]
      v_0 = exp(v)
      A[i0] = v_0
    map i0_0=0:8:
      v_1 = cotangent_A[i0_0]
      cotangent_A_work[i0_0] = v_1
    map i0=0:8:
      v_0 = A[i0]
      g_A = cotangent_A_work[i0]
      g = sdgrad_strong(v_0 * g_A, g_A)
      cotangent_A_work[i0] = g
    map i0_1=0:8:
      v_2 = cotangent_A_work[i0_1]
      gradient_A[i0_1] = v_2"""


def sine(A):
    A[:] = np.sin(A)


SINE = """\
    map i0=0:8:
      v = A[i0]
      tape_A[i0] = v
    map i0=0:8:
      v = A[i0]
      v_0 = sin(v)
      A[i0] = v_0
    map i0_0=0:8:
      v_1 = cotangent_A[i0_0]
      cotangent_A_work[i0_0] = v_1
    map i0=0:8:
      v = tape_A[i0]
      g_A = cotangent_A_work[i0]
      g = cos(v) * g_A
      cotangent_A_work[i0] = g
    map i0_1=0:8:
      v_2 = cotangent_A_work[i0_1]
      gradient_A[i0_1] = v_2"""


def square_sum(A):
    return np.sum(A * A)


SQUARE_SUM = """\
    map i0=0:8:
      v = A[i0]
      v_0 = v * v
      t_0[0] += v_0 (fresh)
    do:
      v_2 = t_0[0]
      __return[0] = v_2
    do:
      g___return = cotangent___return[0]
      gradient_t_0[0] = g___return
    map i0=0:8:
      v = A[i0]
      g_t_0 = gradient_t_0[0]
      g = 2 * v * g_t_0
      gradient_A[i0] = g"""


def ignores(x, y):
    z = np.sin(y)  # noqa: F841
    return np.sum(x)


IGNORES = """\
    map i0=0:8:
      v_1 = x[i0]
      t_0[0] += v_1 (fresh)
    do:
      v_2 = t_0[0]
      __return[0] = v_2
    do:
      g___return = cotangent___return[0]
      gradient_t_0[0] = g___return
    map i0=0:8:
      g_t_0 = gradient_t_0[0]
      gradient_x[i0] = g_t_0
    map i0_0=0:8:
      v = 0
      gradient_y[i0_0] = v"""


def neighbours(A):
    return A[:-1] * A[1:]


NEIGHBOURS = """\
    map i0=0:7:
      v = A[i0]
      v_0 = A[i0 + 1]
      v_1 = v * v_0
      __return[i0] = v_1
    map i0_0=0:8:
      v_2 = 0
      gradient_A[i0_0] = v_2
    map i0=0:7:
      v = A[i0]
      v_0 = A[i0 + 1]
      g___return = cotangent___return[i0]
      g = v_0 * g___return
      g_0 = v * g___return
      gradient_A[i0] += g
      gradient_A[i0 + 1] += g_0"""


def layer(A, x, b):
    return np.tanh(A @ x + b)


LAYER = """\
    map i0=0:4, i1=0:5:
      v = A[i0, i1]
      v_0 = x[i1]
      v_1 = v * v_0
      t[i0] += v_1 (fresh)
    map i0_0=0:4:
      v_2 = t[i0_0]
      v_3 = b[i0_0]
      v_4 = v_2 + v_3
      v_6 = tanh(v_4)
      __return[i0_0] = v_6
    map i0_0=0:4:
      v_6 = __return[i0_0]
      g___return = cotangent___return[i0_0]
      g = (1 - v_6 * v_6) * g___return
      gradient_t[i0_0] = g
      gradient_b[i0_0] = g
    map i0=0:4, i1=0:5:
      v = A[i0, i1]
      v_0 = x[i1]
      g_t = gradient_t[i0]
      g_0 = v_0 * g_t
      g_1 = v * g_t
      gradient_A[i0, i1] = g_0
      gradient_x[i1] += g_1 (fresh)"""

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
