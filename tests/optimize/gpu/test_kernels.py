"""Programs for a GPU: run on the one that is there, or on an emulated one; compiled by ``nvcc`` where it is there.

The emulation (``emulated_cuda``) checks what kernels compute, and that the two memories are not mixed up; it says
nothing of speed. A process has one CUDA: where there is a GPU, nothing is emulated.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dace
import emulated_cupy
import numpy as np
import pytest
import torch
from corpus import CORPUS
from dace.codegen import codegen
from emulated_cuda import toolkit
from programs import PROGRAMS
from references import check
from scipy import interpolate, signal, special
from torch import nn
from torch_zoo import ZOO

import sdgrad
from sdgrad.config import config
from sdgrad.config import on_device as running_on
from sdgrad.convert.callables import bind_arguments
from sdgrad.errors import CaptureError, CompilationFailed, DeviceError
from sdgrad.optimize import optimize
from sdgrad.pipeline import Ready
from sdgrad.program.tree import Leaf, NodeCall, Scope, walk, writes
from sdgrad.runtime.compile import build
from sdgrad.runtime.compile.cache import compile_together
from sdgrad.runtime.libraries import cublas
from sdgrad.specialize.forward_backward import Forward
from sdgrad.specialize.signature import Signature
from sdgrad.tape import checkpoints
from sdgrad.torch.watch import STATE
from tests.torch.test_modules import compare

pytestmark = pytest.mark.filterwarnings("ignore")
M, N = dace.symbol("M"), dace.symbol("N")


def has_gpu() -> bool:
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


@pytest.fixture(scope="session")
def home():
    return toolkit(Path(os.environ["SDGRAD_CACHE_DIR"]))


GPU = has_gpu() and shutil.which("nvcc") is not None
ONLY_EMULATED = pytest.mark.skipif(GPU, reason="asks the emulated device, and a GPU is there")


@pytest.fixture
def gpu(request, monkeypatch):
    """The GPU that is there, or an emulated one."""
    if not GPU:
        monkeypatch.setenv("CUDA_HOME", str(request.getfixturevalue("home")))
    with sdgrad.config.override(optimization_level=0):
        yield


# What programs do ------------------------------------------------------------------------------------

CHOSEN = (
    "while_in_while",  # tapes whose size only data tells
    "return_from_while",
    "loop_with_bounds_read_from_an_array",  # bounds that the host fetches
    "map_triangular",  # ranges that depend on others
    "map_over_rows",  # maps with structured bodies
    "loop_gauss_seidel",
    "loop_red_black",
    "tasklet_wcr_two_kinds",
    "max_two_axes",
    "std_all",
    "trace_of_product",
    "solve_matrix",  # a library of the host
    "rms_normalization",
    "mlp_loss",
    "complex_product",
    "complex_in_place",
    "math_lgamma",
    "guarded_root_at_zero",
    "places_that_are_one",  # one thread writes an element whose place it computes
    "products_into_one_element_in_a_map",  # locals of one name in two scopes, of which one becomes an array
)


@pytest.mark.parametrize("program", [p for p in (*PROGRAMS, *CORPUS) if p.name in CHOSEN], ids=str)
def test_program(program, gpu):
    with sdgrad.config.override(device="gpu"):
        check(program)


def diffusion(x):
    for _ in range(20):
        x[1:-1] = x[1:-1] + 0.1 * (np.sin(x[:-2]) - 2.0 * x[1:-1] + x[2:])
    return np.sum(x * x)


@pytest.mark.parametrize("without", [(), ("checkpoint-memory",)], ids=["one room", "apart"])
def test_checkpoints(without, gpu, monkeypatch):
    """States and tapes are kept on the device; what says where stays on the host."""
    monkeypatch.setattr(checkpoints, "is_cheap", lambda *args: True)
    machine = replace(config.machine, checkpointed_bytes=0)
    x = np.linspace(0.1, 0.9, 40)
    value, gradient = sdgrad.value_and_grad(diffusion)(x)
    with sdgrad.config.override(device="gpu", without=without, machine=machine):
        own = type(diffusion)(diffusion.__code__, diffusion.__globals__, "diffused")
        program = on_device(own, x)[0]
        found, slope = sdgrad.value_and_grad(own)(x)
    assert any(n.startswith("room") for n in program.containers) == (not without)
    stored = {n: c.desc.storage.name for n, c in program.containers.items() if n.startswith(("schedule", "checkpoint"))}
    assert set(stored.values()) == {"CPU_Heap", "GPU_Global"}
    np.testing.assert_allclose(found, value, rtol=1e-13)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12)


def bessel(x):
    total = 0.0
    for i in range(len(x)):
        total += special.j0(x[i]) * total + x[i]
    return total + np.sum(special.gammainc(1.5, x) * np.sin(x))


def test_functions_that_only_the_host_has(gpu):
    x = np.linspace(0.1, 2.0, 7)
    value, gradient = sdgrad.value_and_grad(bessel)(x)
    with sdgrad.config.override(device="gpu"):
        found, slope = sdgrad.value_and_grad(bessel)(x)
    assert np.allclose(found, value, rtol=1e-14) and np.allclose(slope, gradient, rtol=1e-13)


def drawn(x, key):
    for _ in range(3):
        key, sub = sdgrad.random.split(key)
        x = x + 0.1 * sdgrad.random.normal(sub, x.shape) * x
    return np.sum(sdgrad.random.gamma(key, x) ** 2)


def test_random_numbers(gpu):
    """Those of the CPU: the host draws them."""
    x, key = np.linspace(0.5, 2.0, 7), sdgrad.random.key(1)
    value, gradient = sdgrad.value_and_grad(drawn)(x, key)
    with sdgrad.config.override(device="gpu"):
        found, slope = sdgrad.value_and_grad(drawn)(x, key)
    assert np.allclose(found, value, rtol=1e-14) and np.allclose(slope, gradient, rtol=1e-13)


def test_all_were_found():
    assert {p.name for p in (*PROGRAMS, *CORPUS)} >= set(CHOSEN)


@pytest.mark.parametrize("name", ["classifier", "lenet", "encoder"])
def test_module(name, gpu):
    torch.manual_seed(0)
    compare(*ZOO[name](), wrap=lambda m: sdgrad.Module(m, cuda=True))


def test_open_sizes(gpu):
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    wrapped = sdgrad.Module(module, cuda=True, dynamic_shapes=({0: "batch"},))
    for count in (3, 5):
        x = torch.randn(count, 4)
        found = wrapped(x)
        torch.testing.assert_close(found, module(x))
        (mine,) = torch.autograd.grad(found.sum(), module[0].weight)
        (own,) = torch.autograd.grad(module(x).sum(), module[0].weight)
        torch.testing.assert_close(mine, own)


def triangle(data):
    """Products of columns, of pairs only: a kernel whose inner range depends on the outer one."""
    data = data - np.mean(data, axis=0)
    found = np.zeros((data.shape[1], data.shape[1]))
    for i in range(data.shape[1]):
        found[i, i:] = data[:, i] @ data[:, i:]
        found[i:, i] = found[i, i:]
    return np.sum(found * found)


def test_triangular_kernels(gpu):
    data = np.random.default_rng(0).normal(size=(7, 5))
    there, here = (sdgrad.grad(triangle, device=d)(data) for d in ("gpu", "cpu"))
    np.testing.assert_allclose(there, here, rtol=1e-12)


def test_numbers_of_the_host_fill_arrays(gpu):
    found = sdgrad.compile_forward(lambda s: np.full((2, 3), s))
    with sdgrad.config.override(device="gpu"):
        np.testing.assert_array_equal(found(0.7), np.full((2, 3), 0.7))


def pieces(x):
    """Views of which a kernel reads places that it computes."""
    return np.sum(interpolate.PPoly(np.reshape(x[:6], (3, 2)), np.arange(3.0))(x.reshape(4, 4)) ** 2)


def back(x):
    """Places that are computed, in arrays with axes of length one."""
    return np.sum(signal.istft(signal.stft(x, nperseg=4)[2], nperseg=4)[1] ** 2)


def branches(x):
    """Complex functions that only the host has."""
    return np.sum(np.real(special.lambertw(x)))


@pytest.mark.parametrize("f", [pieces, back, branches])
def test_functions_of_scipy(f, gpu):
    x = np.random.default_rng(0).random(16) + 0.1
    there, here = (sdgrad.grad(f, device=d)(x) for d in ("gpu", "cpu"))
    np.testing.assert_allclose(there, here, rtol=1e-12)


def layers(A, x, b):
    y = np.tanh(A @ x + b)
    z = np.exp(y - np.max(y))
    return np.sum(z * z) / np.sum(z) + np.sum(A * A)


def arguments():
    r = np.random.default_rng(0)
    return r.normal(size=(120, 130)) / 10, r.normal(size=130), r.normal(size=120)


def test_device_of_a_call(gpu):
    given = arguments()
    there, here = (sdgrad.value_and_grad(layers, wrt=("A", "x", "b"), device=d)(*given) for d in ("gpu", "cpu"))
    np.testing.assert_allclose(there[0], here[0], rtol=1e-12)
    for mine, own in zip(there[1], here[1], strict=True):
        np.testing.assert_allclose(mine, own, rtol=1e-9, atol=1e-12)
    assert sdgrad.config.device == "cpu"


@pytest.fixture
def cupy(request, gpu, monkeypatch):
    """CuPy, or what stands for it on the emulated device: that one counts its copies."""
    if GPU:
        return pytest.importorskip("cupy")
    module = emulated_cupy.cupy(request.getfixturevalue("home"))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@contextlib.contextmanager
def one_copy(cupy, of):
    """One array is copied between the memories; of CuPy itself that is not known."""
    before = getattr(cupy, "copies", 0)
    yield
    assert GPU or cupy.copies == before + 1, of


def test_arrays_of_a_gpu_are_used_where_they_are(cupy):
    given = arguments()
    there = [cupy.asarray(a) for a in given]
    gradient = sdgrad.value_and_grad(layers, wrt=("A", "x", "b"), device="gpu")
    value, found = gradient(*there)
    wanted, right = sdgrad.value_and_grad(layers, wrt=("A", "x", "b"))(*given)
    assert value.shape == () and value.get() == pytest.approx(wanted, rel=1e-12)
    for mine, own in zip(found, right, strict=True):
        assert type(mine) is cupy.ndarray and mine.shape == own.shape
        np.testing.assert_allclose(mine.get(), own, rtol=1e-9, atol=1e-12)
    with one_copy(cupy, "the seed, a number"):
        gradient(*there)
    with sdgrad.config.override(device="gpu"):
        assert sdgrad.compile_forward(layers)(*there).get() == pytest.approx(wanted, rel=1e-12)


def hidden(A, x, b):
    y = np.tanh(A @ x + b)
    return y * y, np.sum(y)


def test_pullbacks_of_arrays_of_a_gpu(cupy):
    given, r = arguments(), np.random.default_rng(1)
    seeds = r.normal(size=120), 0.5
    (_, wanted), right = (lambda out, pull: (out, pull(*seeds)))(*sdgrad.vjp(hidden, *given))
    there, cotangents = [cupy.asarray(a) for a in given], (cupy.asarray(seeds[0]), cupy.asarray(np.array(0.5)))
    with sdgrad.config.override(device="gpu"):
        (rows, total), pull = sdgrad.vjp(hidden, *there)
        for a in there:
            a[...] = 0.0  # the pullback is that of the call
        found = pull(*cotangents)
        partly = pull(None, 1.0)
    assert type(rows) is cupy.ndarray and total.get() == pytest.approx(wanted, rel=1e-12)
    for mine, own in zip(found, right, strict=True):
        assert type(mine) is cupy.ndarray
        np.testing.assert_allclose(mine.get(), own, rtol=1e-9, atol=1e-12)
    own = sdgrad.vjp(hidden, *given)[1](None, 1.0)
    np.testing.assert_allclose(partly[1].get(), own[1], rtol=1e-9, atol=1e-12)


def test_tapes_stay_on_a_gpu(cupy):
    given = arguments()
    there = [cupy.asarray(a) for a in given]
    right = sdgrad.grad(layers, wrt=("A", "x"))(*given)
    forward, backward = sdgrad.grad(layers, requires=["A", "x"])
    with sdgrad.config.override(device="gpu"):
        value, tape = forward(*there)
        into = {"x": cupy.asarray(np.ones(130))}
        with one_copy(cupy, "the seed, a number"):
            found = backward(tape)
        backward(tape, into=into)
        sdgrad.zero_grad(found["A"])
    assert type(value) is cupy.ndarray and all(type(tape.arrays[n]) is cupy.ndarray for n in tape.programs.halves.kept)
    np.testing.assert_allclose(found["x"].get(), right[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(into["x"].get(), right[1] + 1.0, rtol=1e-9, atol=1e-12)
    assert not np.any(found["A"].get())


def test_tangents_of_arrays_of_a_gpu(cupy):
    given, r = arguments(), np.random.default_rng(2)
    moved = [r.normal(size=a.shape) for a in given]
    (_, wanted), (rows, right) = sdgrad.jvp(hidden, given, moved)
    there, along = ([cupy.asarray(a) for a in arrays] for arrays in (given, moved))
    with sdgrad.config.override(device="gpu"):
        with one_copy(cupy, "the tangent of the host"):
            (_, total), (mine, found) = sdgrad.jvp(hidden, there, [along[0], moved[1], along[2]])
        with pytest.raises(sdgrad.SdgradError, match="tangent of 'x'"):
            sdgrad.jvp(hidden, there, [along[0], along[2], along[2]])
    assert total.get() == pytest.approx(wanted, rel=1e-12) and found.get() == pytest.approx(right, rel=1e-12)
    np.testing.assert_allclose(mine.get(), rows, rtol=1e-9, atol=1e-12)


def collected(x, n):
    s = 0.0
    while s < n[0]:
        s += np.sum(x * x)
    return s


def test_tapes_of_unknown_size_go_through_the_host(cupy):
    x, n = np.linspace(0.5, 1.5, 10), np.array([40.0])
    right = sdgrad.vjp(collected, x, n)[1](1.0)[0]
    with sdgrad.config.override(device="gpu"):
        value, pull = sdgrad.vjp(collected, cupy.asarray(x), cupy.asarray(n))
        found = pull(1.0)[0]
    np.testing.assert_allclose(found.get(), right, rtol=1e-12)


def overwritten(x, s):
    x[1:] = x[1:] * x[:-1] * s
    return np.sum(x * x)


def test_what_a_program_writes_of_them_is_copied(cupy):
    x = np.linspace(0.5, 1.5, 40)
    there, number = cupy.asarray(x), cupy.asarray(np.array(1.5))
    value, found = sdgrad.value_and_grad(overwritten, device="gpu")(there, number)
    wanted, right = sdgrad.value_and_grad(overwritten)(x, 1.5)
    assert value.get() == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(found.get(), right, rtol=1e-12)
    np.testing.assert_array_equal(there.get(), x)
    sdgrad.grad(overwritten, device="gpu", inplace=True)(there, number)
    written = x.copy()
    overwritten(written, 1.5)
    np.testing.assert_allclose(there.get(), written, rtol=1e-12)


def test_arrays_of_both_memories(cupy):
    A, x, b = arguments()
    (mine,) = sdgrad.grad(layers, wrt=("x",), device="gpu")(A, cupy.asarray(x), b)
    (own,) = sdgrad.grad(layers, wrt=("x",))(A, x, b)
    np.testing.assert_allclose(mine.get(), own, rtol=1e-9, atol=1e-12)
    (copied,) = sdgrad.grad(layers, wrt=("x",), device="cpu")(A, cupy.asarray(x), b)
    np.testing.assert_allclose(copied.get(), own, rtol=1e-9, atol=1e-12)


def test_arrays_of_a_gpu_that_do_not_fit(cupy):
    A, x, b = arguments()
    gradient = sdgrad.grad(layers, wrt=("x",), device="gpu")
    with pytest.raises(ValueError, match="matmul: shapes .* do not fit"):
        gradient(cupy.asarray(A), cupy.asarray(x[:-1]), cupy.asarray(b))


def on_device(f, *given, resident=False):
    question = sdgrad.value_and_grad(f, wrt=tuple(bind_arguments(f, given, {})))
    with sdgrad.config.override(device="gpu"):
        signature, _, _, request = question.question(bind_arguments(f, given, {}))
        return optimize(signature.differentiated(request).program, resident), signature, request


def test_large_sums_of_few_elements_are_shared_out():
    program = on_device(layers, *arguments())[0]
    (part,) = [c for n, c in program.containers.items() if n.startswith("part_")]
    assert part.shape == (32,)
    kernels = [n for n in program.body if isinstance(n, Scope) and part.name in writes(n)]
    assert [[str(p) for p in n.params] for n in kernels] == [["lane=0:32"]]


def test_arguments_that_are_there_are_not_copied():
    """A program of resident arguments has kernels only; one for arrays of the host copies each of them."""

    def copies(program):
        leaves = [n for n in walk(program.body) if isinstance(n, Leaf)]
        hosts = {n for n, c in program.containers.items() if c.desc.storage.name in ("Default", "CPU_Heap")}
        return [n for n in leaves if hosts & {x.container for x in (*n.loads, *n.stores)} and not n.sequential]

    program = on_device(layers, *arguments(), resident=True)[0]
    storages = {program.containers[n].desc.storage.name for n in program.arguments}
    assert storages == {"GPU_Global"}
    assert not any(n.startswith(("there_", "here_")) for n in program.containers)
    program = on_device(layers, *arguments())[0]
    assert {"there_A", "there_x", "there_b", "there_gradient_A"} <= set(program.containers)
    assert copies(program)


@ONLY_EMULATED
def test_wrong_memory_is_found(gpu):
    """The emulation is no toy: a program of resident arguments that is given memory of the host fails."""
    given = arguments()
    _, signature, request = on_device(layers, *given)
    with sdgrad.config.override(device="gpu"):
        resident = type(signature).of(layers, dict(zip("Axb", given, strict=True)), resident=True)
        program = resident.gradient(request)
        with pytest.raises(DeviceError, match="error (1|999)"):
            program({**resident.arguments(dict(zip("Axb", given, strict=True))), "cotangent___return": np.ones(1)})


def solved(A, b):
    return np.sum(np.linalg.solve(A, b))


def transformed(x):
    return np.sum(np.abs(np.fft.rfft(np.sin(x), axis=0)) ** 2)


@pytest.mark.parametrize("f, given", [(solved, (np.eye(3), np.ones((3, 2)))), (transformed, (np.ones((6, 5)),))])
def test_libraries_of_the_host_are_given_copies(f, given):
    program = on_device(f, *given)[0]
    calls = [n for n in walk(program.body) if isinstance(n, NodeCall)]
    used = {r.container for n in calls for r in (*n.inputs.values(), *n.outputs.values())}
    assert calls and all(program.containers[n].desc.storage.name == "CPU_Heap" for n in used)
    kernels = [n for n in program.body if isinstance(n, (Leaf, Scope)) and n.schedule.name == "GPU_Device"]
    assert kernels


def test_transforms_of_the_host(gpu):
    x = np.arange(12.0).reshape(4, 3)
    with sdgrad.config.override(device="gpu"):
        found = sdgrad.grad(transformed)(x)
    spectrum = np.fft.rfft(np.sin(x), axis=0) * [[2], [1], [2]]  # a transform back counts the middle twice
    np.testing.assert_allclose(found, 4 * np.fft.irfft(spectrum, 4, axis=0) * np.cos(x), 1e-12, 1e-12)


EXTREMES = {
    "max": np.max,
    "min": lambda x: np.min(np.tanh(x)),
    "rows": lambda x: np.sum(np.max(x.reshape(60, 10), axis=1)),
    "maximum": lambda x: np.sum(np.maximum(x, x[::-1])),
    "clip": lambda x: np.sum(np.clip(x, 0.1, 0.9)),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_what_is_not_a_number_stays_so(name, gpu):
    x = np.linspace(-1.0, 2.0, 600)
    compiled = sdgrad.compile_forward(EXTREMES[name])
    with sdgrad.config.override(device="gpu"):
        assert compiled(x) == pytest.approx(EXTREMES[name](x), rel=1e-12)
        for place in (0, 317, 599):
            given = x.copy()
            given[place] = np.nan
            assert np.isnan(compiled(given))


# Products ---------------------------------------------------------------------------------------------


def pair(A, B):
    C = A @ B
    return np.sum(C * C.conj()).real + np.sum(A.T @ A[:, :1]).real


def vectors(A, x, y):
    return np.sum(np.sin(A @ x)) * np.sum(np.tanh(y @ A)) + np.sum(A.T @ y)


def summed_over_trips(A, x):
    s = np.zeros_like(x)
    for _ in range(3):
        s += np.sin(A @ s) + x
    return np.sum(s * s)


def stacks(A, B):
    return np.sum((A @ B) ** 2)


def parts(A, B):
    return np.sum((A[1:, 5:35] @ B[:, 2:]) ** 2)


PRODUCTS = {
    "matrices": (pair, ((20, 30), (30, 25)), np.float64),
    "single": (pair, ((20, 30), (30, 25)), np.float32),
    "complex": (pair, ((20, 30), (30, 25)), np.complex128),
    "vectors": (vectors, ((90, 70), (70,), (90,)), np.float64),
    "loop": (summed_over_trips, ((80, 80), (80,)), np.float64),
    "stack": (stacks, ((3, 20, 30), (3, 30, 25)), np.float64),
    "repeated": (stacks, ((3, 20, 30), (30, 25)), np.float64),
    "two_dimensions": (stacks, ((2, 1, 20, 30), (3, 30, 25)), np.float64),
    "parts": (parts, ((21, 60), (30, 25)), np.float64),
}


def _products_of(home):
    """The number of products that the emulated cuBLAS has computed, as a function."""
    return ctypes.CDLL(str(home / "lib" / "libcublas.so")).emulated_products


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_calls_of_cublas(name, gpu, request):
    f, shapes, dtype = PRODUCTS[name]
    r = np.random.default_rng(0)
    given = [r.normal(size=s).astype(dtype) / 8 for s in shapes]
    if dtype == np.complex128:
        given = [a + 1j * r.normal(size=a.shape) for a in given]
    wrt = tuple(bind_arguments(f, given, {}))
    products = (lambda: 0) if GPU else _products_of(request.getfixturevalue("home"))
    before = products()
    there = sdgrad.value_and_grad(f, wrt=wrt, device="gpu")(*given)
    assert GPU or products() >= before + 3, "forward, and one for each factor"
    here = sdgrad.value_and_grad(f, wrt=wrt, device="cpu")(*given)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(there[0], here[0], rtol=tolerance)
    for mine, own in zip(there[1], here[1], strict=True):
        np.testing.assert_allclose(mine, own, rtol=tolerance, atol=tolerance)


def test_products_without_cublas(gpu, monkeypatch):
    monkeypatch.setattr(cublas, "library_path", lambda: None)
    program = on_device(pair, np.ones((20, 30)), np.ones((30, 25)))[0]
    assert not any(isinstance(n, NodeCall) for n in walk(program.body))


def test_products_stay_on_the_device(gpu):
    program = on_device(pair, np.ones((20, 30)), np.ones((30, 25)), resident=True)[0]
    calls = [n for n in walk(program.body) if isinstance(n, NodeCall)]
    used = {r.container for n in calls for r in (*n.inputs.values(), *n.outputs.values())}
    assert len(calls) >= 3 and all(program.containers[n].desc.storage.name == "GPU_Global" for n in used)


@dace.program
def raw_product(A: dace.float64[M, N], B: dace.float64[N, M], s: dace.float64[1]):
    s[0] = np.sum(np.tanh(A @ B))


def test_products_of_raw_graphs(gpu):
    sdfg = raw_product.to_sdfg(simplify=True)
    sdgrad.add_backward_pass(sdfg, inputs=["A"], outputs=["s"])
    sdfg.apply_gpu_transformations()
    (frame, *_) = [o.clean_code for o in codegen.generate_code(sdfg)]
    assert frame.count("sdgrad_cublas_products<double>(__dace_current_stream") == 2


# Errors ----------------------------------------------------------------------------------------------


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(CompilationFailed, match="no CUDA compiler: 'nvcc' is not in .*Install CUDA's toolkit"):
        sdgrad.grad(layers, device="gpu")(*arguments())


def test_no_such_device():
    with pytest.raises(ValueError, match="device is one of 'cpu', 'gpu', not 'tpu'"):
        sdgrad.grad(layers, device="tpu")(*arguments())


def test_modules_say_what_they_need():
    module = nn.Linear(3, 2, device="meta")
    with pytest.raises(CaptureError, match="'weight' on meta"):
        sdgrad.Module(module)(torch.ones(1, 3))


# NVIDIA's compiler, and a GPU -------------------------------------------------------------------------


def gemm(A, B):
    return np.sum((A @ B) ** 2)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(e / np.sum(e, axis=-1, keepdims=True) * x)


def jacobi(A):
    B = np.zeros_like(A)
    for _ in range(4):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * A)


def powers(x):
    return np.sum(2.0**x + 3**x + 2 ** np.sin(x))


def until(x):
    s = 1.0
    while s < 10.0:
        s = s * 1.5 + x[0]
    return s * np.sum(np.abs(x))


R = np.random.default_rng(1)
SAMPLE = {
    "gemm": (gemm, (R.normal(size=(20, 30)), R.normal(size=(30, 25)))),
    "softmax": (softmax, (R.normal(size=(40, 50)),)),
    "jacobi": (jacobi, (R.normal(size=(20, 22)),)),
    "triangle": (triangle, (R.normal(size=(20, 12)),)),
    "powers": (powers, (R.normal(size=20),)),
    "until": (until, (R.uniform(0.1, 1, size=7),)),
}


SAMPLES = [x for _, given in SAMPLE.values() for x in given]


def samples(A, B, rows, grid, columns, x, u):
    return gemm(A, B) + softmax(rows) + jacobi(grid) + triangle(columns) + powers(x) + until(u)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs NVIDIA's compiler")
@pytest.mark.parametrize("resident", [False, True], ids=["host", "resident"])
def test_nvcc_takes_the_code(resident, monkeypatch):
    """All samples in one program: each call of this compiler takes ten seconds."""
    monkeypatch.delenv("CUDA_HOME", raising=False)
    with sdgrad.config.override(device="gpu"):
        _, signature, request = on_device(samples, *SAMPLES)
        ready = Ready.of(signature.differentiated(request).program, resident)
        (library,) = compile_together([ready])
    assert list(Path(library.path).parent.rglob("*.cu"))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs NVIDIA's compiler")
def test_nvcc_takes_a_module(monkeypatch, tmp_path):
    """Both halves of a module whose tensors would be on a GPU; they are loaded, and not run."""
    monkeypatch.delenv("CUDA_HOME", raising=False)
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 5), nn.GELU())
    wrapped, x = sdgrad.Module(module), torch.randn(2, 1, 6, 6)
    wrapped(x)
    (segment,) = wrapped.__dict__[STATE].latest.segments
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    given = dict(zip(segment.function.arguments, (*tensors.values(), x), strict=True))
    wanted = tuple(n for n, t in given.items() if t.requires_grad)
    with sdgrad.config.override(cache_dir=tmp_path), running_on("gpu"):
        signature = Signature.of(segment.function, {n: t.detach() for n, t in given.items()}, resident=True)
        halves = Forward(segment.function, wanted, segment.provides).compiled(signature)[2]
    assert halves.halves is not None and len(list(tmp_path.rglob("*.cu"))) == 2
    slots = {s.name: s.desc.storage.name for s in halves.backward.slots if s.shape != ()}
    assert set(slots.values()) == {"GPU_Global"}


@dace.program
def raw_graph(A: dace.float64[M, N], s: dace.float64[1]):
    for i in range(3):
        A[:, 1:-1] = 0.5 * A[:, 1:-1] + A[:, 2:] * A[:, :-2]
    s[0] = np.sum(np.tanh(A))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs NVIDIA's compiler")
def test_dace_moves_a_graph_with_its_backward_pass(tmp_path):
    sdfg = raw_graph.to_sdfg(simplify=True)
    sdgrad.add_backward_pass(sdfg, inputs=["A"], outputs=["s"])
    sdfg.apply_gpu_transformations()
    (kernels,) = [o.clean_code for o in codegen.generate_code(sdfg) if o.title == "CUDA"]
    assert kernels.count("__global__") > 4
    source = tmp_path / "src" / "cuda" / "kernels.cu"
    source.parent.mkdir(parents=True)
    source.write_text(kernels)
    build.compile_kernels(source, [])


@pytest.mark.skipif(shutil.which("nvcc") is None or has_gpu(), reason="needs NVIDIA's compiler, and no GPU")
def test_no_gpu(monkeypatch):
    """The program of the test above."""
    monkeypatch.delenv("CUDA_HOME", raising=False)
    gradient = sdgrad.value_and_grad(samples, wrt=tuple(bind_arguments(samples, SAMPLES, {})), device="gpu")
    with pytest.raises(DeviceError, match="CUDA finds no GPU"):
        gradient(*SAMPLES)


@pytest.mark.skipif(not GPU, reason="needs a GPU and NVIDIA's compiler")
@pytest.mark.parametrize("name", SAMPLE)
def test_on_a_gpu(name):
    f, given = SAMPLE[name]
    there, here = (sdgrad.value_and_grad(f, device=d)(*given) for d in ("gpu", "cpu"))
    np.testing.assert_allclose(there[0], here[0], rtol=1e-10)
    np.testing.assert_allclose(there[1], here[1], rtol=1e-8, atol=1e-10)


@pytest.mark.skipif(not torch.cuda.is_available() or shutil.which("nvcc") is None, reason="needs PyTorch with a GPU")
def test_tensors_on_a_gpu():
    module = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)).cuda()
    x = torch.randn(5, 8, device="cuda", requires_grad=True)
    found = sdgrad.Module(module, cuda=True)(x)
    torch.testing.assert_close(found, module(x))
    (mine,) = torch.autograd.grad((found**2).sum(), x)
    (own,) = torch.autograd.grad((module(x) ** 2).sum(), x)
    torch.testing.assert_close(mine, own)


@pytest.mark.skipif(not torch.cuda.is_available() or shutil.which("nvcc") is None, reason="needs PyTorch with a GPU")
def test_functions_of_tensors_on_a_gpu():
    given = arguments()
    there = [torch.tensor(a, device="cuda") for a in given]
    value, found = sdgrad.value_and_grad(layers, wrt=("A", "x", "b"), device="gpu")(*there)
    wanted, right = sdgrad.value_and_grad(layers, wrt=("A", "x", "b"))(*given)
    assert value.is_cuda and value.item() == pytest.approx(wanted, rel=1e-10)
    for mine, own in zip(found, right, strict=True):
        assert mine.is_cuda
        np.testing.assert_allclose(mine.cpu().numpy(), own, rtol=1e-8, atol=1e-11)
