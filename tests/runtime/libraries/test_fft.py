"""Fourier transforms by pocketfft: values, adjoints and tangents against NumPy's own, over all kinds of operands."""

import threading

import dace
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft
from dace.libraries.fft import FFT, IFFT

import sdgrad
from sdgrad.runtime.libraries.fft import ENVIRONMENTS, Expand, ExpandFourierTransform, FourierTransform
from sdgrad.runtime.libraries.fft_of_dace import ExpandFFT, ExpandIFFT

RNG = np.random.default_rng(5)
LENGTHS = (*range(1, 18), 60, 64, 97, 101)


def numbers(*shape, kind="d"):
    found = RNG.standard_normal(shape)
    return (found + 1j * RNG.standard_normal(shape) if kind in "DF" else found).astype(kind)


def pulled_back(linear, x, seed):
    """The adjoint of a map that is linear over the real numbers, from its values for all unit vectors."""
    found = np.zeros(x.shape, np.result_type(x, np.float64))
    for at in np.ndindex(x.shape):
        for unit in (1.0, 1j) if found.dtype.kind == "c" else (1.0,):
            moved = np.zeros_like(found)
            moved[at] = unit
            found[at] += unit * np.sum((np.conj(linear(moved)) * seed).real)
    return found


def check(linear, x, rtol=1e-10):
    """Compare value, adjoint and tangent of a linear function with what NumPy computes."""
    value, pull = sdgrad.vjp(linear, x)
    expected = linear(x)
    assert value.shape == expected.shape and value.dtype == expected.dtype
    scale = rtol * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(value, expected, rtol, scale)
    seed, moved = (numbers(*a.shape, kind=a.dtype.char) for a in (expected, x))
    (gradient,) = pull(seed)
    assert gradient.dtype == x.dtype
    np.testing.assert_allclose(gradient, pulled_back(linear, x, seed), rtol, scale * x.size)
    np.testing.assert_allclose(sdgrad.jvp(linear, (x,), (moved,))[1], linear(moved), rtol, scale)


# Lengths ------------------------------------------------------------------------------------------------------
def of_all_lengths(x):
    return [np.fft.fft(x[:, :n]) for n in LENGTHS]


def halves_of_all_lengths(x):
    return [np.fft.rfft(x[:, :n]) for n in LENGTHS]


def from_halves_of_all_lengths(x):
    return [np.fft.irfft(x[:, : n // 2 + 1], n) for n in LENGTHS]


def matrix(n, back=False):
    j = np.arange(n)
    return np.exp((2j if back else -2j) * np.pi * (np.outer(j, j) % n) / n)


@pytest.mark.parametrize("kind", ["d", "D", "f", "F"])
def test_every_length(kind):
    x = numbers(3, max(LENGTHS), kind=kind)
    found, pull = sdgrad.vjp(of_all_lengths, x)
    rtol = 1e-12 if kind in "dD" else 1e-5
    seeds, expected = [], np.zeros((3, max(LENGTHS)), complex)
    for n, value in zip(LENGTHS, found, strict=True):
        assert value.dtype == (np.complex128 if kind in "dD" else np.complex64)
        np.testing.assert_allclose(value, x[:, :n] @ matrix(n), rtol * n, rtol * n)
        seeds.append(numbers(3, n, kind="D").astype(value.dtype))
        expected[:, :n] += seeds[-1] @ matrix(n, back=True)
    (gradient,) = pull(seeds)
    expected = expected if kind in "DF" else expected.real
    assert gradient.dtype == x.dtype
    np.testing.assert_allclose(gradient, expected, 100 * rtol, 1000 * rtol)


@pytest.mark.parametrize("kind", ["d", "f"])
def test_every_length_of_half_a_spectrum(kind):
    rtol = 1e-12 if kind == "d" else 1e-5
    x = numbers(2, max(LENGTHS), kind=kind)
    found, pull = sdgrad.vjp(halves_of_all_lengths, x)
    seeds, expected = [], np.zeros((2, max(LENGTHS)))
    for n, value in zip(LENGTHS, found, strict=True):
        np.testing.assert_allclose(value, np.fft.rfft(x[:, :n]), rtol * n, rtol * n)
        seeds.append(numbers(2, n // 2 + 1, kind="D").astype(value.dtype))
        expected[:, :n] += (seeds[-1] @ matrix(n, back=True)[: n // 2 + 1]).real
    (gradient,) = pull(seeds)
    np.testing.assert_allclose(gradient, expected, 100 * rtol, 1000 * rtol)


@pytest.mark.parametrize("kind", ["D", "F"])
def test_every_length_from_half_a_spectrum(kind):
    rtol = 1e-12 if kind == "D" else 1e-5
    x = numbers(2, max(LENGTHS), kind=kind)
    found, pull = sdgrad.vjp(from_halves_of_all_lengths, x)
    seeds, expected = [], np.zeros((2, max(LENGTHS)), complex)
    for n, value in zip(LENGTHS, found, strict=True):
        np.testing.assert_allclose(value, np.fft.irfft(x[:, : n // 2 + 1], n), rtol * n, rtol * n)
        seeds.append(numbers(2, n, kind=value.dtype.char))
        own = seeds[-1] @ matrix(n)[:, : n // 2 + 1] / n
        own[:, 1 : (n + 1) // 2] *= 2
        own[:, 0] = own[:, 0].real
        if n % 2 == 0:
            own[:, -1] = own[:, -1].real
        expected[:, : n // 2 + 1] += own
    (gradient,) = pull(seeds)
    np.testing.assert_allclose(gradient, expected, 100 * rtol, 1000 * rtol)


# Functions and their arguments ------------------------------------------------------------------------------------
LINEAR = {
    "fft": lambda x: np.fft.fft(x, norm="ortho"),
    "fft_forward": lambda x: np.fft.fft(x, 9, axis=0, norm="forward"),
    "ifft": lambda x: np.fft.ifft(x, 3),
    "ifft_forward": lambda x: np.fft.ifft(x, axis=-2, norm="forward"),
    "rfft_ortho": lambda x: np.fft.rfft(np.real(x), axis=1, norm="ortho"),
    "rfft_padded": lambda x: np.fft.rfft(np.imag(x), 8, axis=0, norm="forward"),
    "irfft": lambda x: np.fft.irfft(x, norm="ortho"),
    "irfft_odd": lambda x: np.fft.irfft(x, 5, axis=0),
    "hfft": lambda x: np.fft.hfft(x, 7),
    "hfft_forward": lambda x: np.fft.hfft(x, axis=0, norm="forward"),
    "ihfft": lambda x: np.fft.ihfft(np.real(x)),
    "ihfft_ortho": lambda x: np.fft.ihfft(np.real(x), 6, axis=0, norm="ortho"),
    "fft2": lambda x: np.fft.fft2(x),
    "fft2_padded": lambda x: np.fft.fft2(np.real(x), s=(6, 3)),
    "ifft2": lambda x: np.fft.ifft2(x, norm="ortho"),
    "fftn": lambda x: np.fft.fftn(x[:, None, :] * np.ones((4, 2, 5)), axes=(2, 0)),
    "ifftn": lambda x: np.fft.ifftn(x, s=(-1, 7), axes=(1, 0)),
    "rfft2": lambda x: np.fft.rfft2(np.real(x), axes=(1, 0)),
    "rfftn": lambda x: np.fft.rfftn(np.imag(x), s=(3, 6), axes=(0, 1), norm="forward"),
    "irfft2": lambda x: np.fft.irfft2(x, norm="ortho"),
    "irfftn": lambda x: np.fft.irfftn(x, s=(5, 7), axes=(0, 1)),
    "slice": lambda x: np.fft.fft(x[1:3, ::2].T) * 1.5,
    "column": lambda x: np.fft.rfft(np.real(x[:, 1])),
    "single": lambda x: np.fft.fft(x[:1], axis=0) + np.fft.irfft(x[:1], 1),
    "of_scipy": lambda x: scipy.fft.fft(x, 6, norm="ortho", workers=1),
    "several_of_scipy": lambda x: scipy.fft.irfft2(scipy.fft.fft2(x, overwrite_x=True), axes=(0, 1)),
    "hermitian_of_scipy": lambda x: scipy.fft.hfft(x) + scipy.fft.rfft(np.real(scipy.fft.ifftn(x)), 14).imag,
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_function(name):
    check(LINEAR[name], numbers(4, 5, kind="D"))


@pytest.mark.parametrize("name", ["fft", "irfft", "hfft", "rfft2", "ihfft_ortho", "ifft2"])
def test_a_linear_function_in_single_precision(name):
    check(LINEAR[name], numbers(4, 5, kind="F"), 2e-5)


def test_integers_are_transformed_as_real_numbers():
    x = np.arange(12).reshape(3, 4)
    found = sdgrad.compile_forward(lambda x: np.fft.rfft(x))(x)
    np.testing.assert_allclose(found, np.fft.rfft(x), 1e-12, 1e-12)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda x: np.sum(np.fft.fft(x, norm="backwards").real), "Invalid norm value 'backwards'"),
        (lambda x: np.sum(np.fft.fft(x, 0).real), r"Invalid number of FFT data points \(0\)"),
        (lambda x: np.sum(np.fft.irfft(x[:1]).real), r"Invalid number of FFT data points \(0\)"),
        (lambda x: np.sum(np.fft.fft2(np.outer(x, x), s=(2,)).real), "different lengths"),
        (lambda x: np.sum(np.fft.rfft(x + 1j).real), "complex"),
        (lambda x: np.sum(np.fft.fft(x, axis=1).real), "axis 1 is out of bounds"),
    ],
)
def test_what_numpy_refuses(wrong, message):
    with pytest.raises((ValueError, TypeError, IndexError, sdgrad.SdgradError), match=message):
        sdgrad.grad(wrong)(np.ones(4))


# In programs ------------------------------------------------------------------------------------------------------
def power(x):
    return np.sum(np.abs(np.fft.fft(x[:6])) ** 4) + np.sum(np.fft.irfft(np.fft.rfft(x) ** 2) ** 3)


def power_of_jax(x):
    spectrum = jnp.fft.fft(x[:6])
    squares = spectrum.real**2 + spectrum.imag**2
    return jnp.sum(squares**2) + jnp.sum(jnp.fft.irfft(jnp.fft.rfft(x) ** 2) ** 3)


def test_second_derivatives():
    x = numbers(8)
    expected = np.asarray(jax.hessian(power_of_jax)(x))
    np.testing.assert_allclose(sdgrad.hessian(power)(x), expected, 1e-9, 1e-9 * np.abs(expected).max())
    moved = numbers(8)
    np.testing.assert_allclose(sdgrad.hvp(power, (x,), (moved,)), expected @ moved, 1e-9, 1e-7)


def test_a_jacobian_in_both_modes():
    x = numbers(7)
    expected = matrix(7)[:, :4].real.T
    for mode in ("forward", "reverse"):
        found = sdgrad.jacobian(lambda x: np.real(np.fft.rfft(x)), mode=mode)(x)
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


def test_many_at_once():
    x = numbers(5, 8)
    expected = np.asarray([jax.grad(power_of_jax)(row) for row in x])
    np.testing.assert_allclose(sdgrad.vmap(sdgrad.grad(power))(x), expected, 1e-9, 1e-9)


def in_a_loop(a):
    total = 0.0
    for i in range(3):
        total = total + np.sum(np.abs(np.fft.fft(a[i])) ** 2) * (i + 1)
    return total


def over_steps(x):
    for _ in range(4):
        x = np.real(np.fft.ifft(np.fft.fft(x) * 0.5)) + x**2
    return np.sum(x)


def over_steps_of_jax(x):
    for _ in range(4):
        x = 0.5 * x + x**2
    return jnp.sum(x)


def of_growing_parts(x):
    total = 0.0
    for k in range(1, 7):
        y = np.fft.fft(x[:k] * x[0])
        z = np.fft.irfft(np.fft.rfft(x[: 2 * k]))
        total = total + np.sum(np.abs(y) ** 4) * k + np.sum(z**3)
    return total


def of_growing_parts_of_jax(x):
    total = 0.0
    for k in range(1, 7):
        y = jnp.fft.fft(x[:k] * x[0])
        total = total + jnp.sum((y.real**2 + y.imag**2) ** 2) * k + jnp.sum(x[: 2 * k] ** 3)
    return total


def test_the_first_elements():
    w = numbers(5)
    found = sdgrad.grad(lambda w: np.sum(np.abs(np.fft.fft(w[:2])) ** 2))(w)
    np.testing.assert_allclose(found, np.concatenate([4 * w[:2], np.zeros(3)]), 1e-12)


def test_rows_in_a_loop():
    a = numbers(3, 4)
    np.testing.assert_allclose(sdgrad.grad(in_a_loop)(a), 8 * a * np.arange(1, 4)[:, None], 1e-12)


@pytest.mark.parametrize(
    "function, reference", [(over_steps, over_steps_of_jax), (of_growing_parts, of_growing_parts_of_jax)]
)
def test_loops(function, reference):
    x = 0.5 * numbers(12)
    expected = np.asarray(jax.grad(reference)(x))
    np.testing.assert_allclose(sdgrad.grad(function)(x), expected, 1e-9, 1e-10)
    moved = numbers(12)
    np.testing.assert_allclose(sdgrad.jvp(function, (x,), (moved,))[1], expected @ moved, 1e-9, 1e-10)


N, M = dace.symbol("N"), dace.symbol("M")


@dace.program
def of_any_size(x: dace.complex128[M, N]):
    y = np.fft.ifft(x, axis=0)
    z = np.fft.rfft(np.real(y), axis=1)
    return np.sum(np.abs(z) ** 4)


def of_any_size_of_jax(re, im):
    z = jnp.fft.rfft(jnp.fft.ifft(re + 1j * im, axis=0).real, axis=1)
    return jnp.sum((z.real**2 + z.imag**2) ** 2)


def test_a_program_of_dace_with_symbolic_sizes():
    for shape in ((3, 8), (4, 5)):
        x = numbers(*shape, kind="D")
        re, im = jax.grad(of_any_size_of_jax, argnums=(0, 1))(x.real, x.imag)
        np.testing.assert_allclose(sdgrad.grad(of_any_size)(x), re + 1j * im, 1e-10, 1e-12)


@pytest.mark.parametrize("node", [FFT, IFFT])
def test_nodes_of_dace(node):
    """With a length that is known at run time, and their own factor."""
    sdfg = dace.SDFG(f"with_{node.__name__}")
    sdfg.add_array("x", [N], dace.complex64)
    sdfg.add_array("y", [N], dace.complex64)
    state, call = sdfg.add_state(), node("call")
    call.factor = 1 / N
    state.add_edge(state.add_read("x"), None, call, "_inp", sdfg.make_array_memlet("x"))
    state.add_edge(call, "_out", state.add_write("y"), None, sdfg.make_array_memlet("y"))
    x, y = numbers(7, kind="F"), np.zeros(7, np.complex64)
    sdgrad.compile_forward(sdfg)
    sdgrad.add_backward_pass(sdfg, inputs=["x"], outputs=["y"])
    given, seed = np.zeros(7, np.complex64), numbers(7, kind="F")
    sdfg(x=x, y=y, gradient_x=given, gradient_y=seed.copy(), N=7)
    signs = matrix(7, back=node is IFFT)
    np.testing.assert_allclose(y, signs @ x / 7, 1e-5, 1e-5)
    np.testing.assert_allclose(given, np.conj(signs) @ seed / 7, 1e-5, 1e-5)


def test_calls_from_several_threads():
    """The factors of lengths are shared."""
    x = numbers(2, max(LENGTHS))
    function = sdgrad.compile_forward(of_all_lengths)
    function(x)
    found = [None] * 4

    def run(k):
        for _ in range(5):
            found[k] = function(x)

    threads = [threading.Thread(target=run, args=[k]) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in found:
        for n, result in zip(LENGTHS, results, strict=True):
            np.testing.assert_allclose(result, np.fft.fft(x[:, :n]), 1e-12, 1e-12)


# The node -----------------------------------------------------------------------------------------------------------
def graph(node, types, shapes, strides=None):
    sdfg = dace.SDFG("graph")
    state = sdfg.add_state()
    for name, dtype, shape in zip(("inp", "out"), types, shapes, strict=True):
        sdfg.add_array(name, shape, dtype, strides=(strides or {}).get(name))
    state.add_edge(state.add_read("inp"), None, node, "_inp", sdfg.make_array_memlet("inp"))
    state.add_edge(node, "_out", state.add_write("out"), None, sdfg.make_array_memlet("out"))
    return node, state, sdfg


def test_the_code_of_a_node():
    node = FourierTransform(rank=2, axis=1, back=True, power=-0.5, half=True, inner=2.0)
    call = graph(node, (dace.complex64, dace.float32), ([1, 3, N // 2 + 1], [3, N]), {"out": [1, 3]})
    found = ExpandFourierTransform.expansion(*call)
    lines = found.code.as_string.splitlines()
    assert lines[0].startswith("const int64_t shape[] = {int64_t(3), int64_t(N)}, from[] = {")
    assert lines[0].endswith("to[] = {int64_t(1), int64_t(3)};")
    scale = "std::pow(double(shape[1]), -0.5)"
    assert lines[1] == f"sdgrad::fft::transform({{2, 1, true, true, 2.0, {scale}, shape, from, to}}, _inp, _out);"
    Expand.postprocessing(call[2], call[1], found)
    assert found.environments == {ENVIRONMENTS["float", True].full_class_path()}


def test_the_adjoint_of_a_node():
    node = FourierTransform(rank=3, axis=1, power=-1.0, half=True, inner=2.0)
    adjoint = node.adjoint()
    assert adjoint.back and (adjoint.rank, adjoint.axis, adjoint.power, adjoint.inner) == (3, 1, -1.0, 2.0)
    assert adjoint.half and not adjoint.adjoint().back


def test_factors_of_dace_are_real_numbers():
    for node, expansion, back in ((FFT("call"), ExpandFFT, "false"), (IFFT("call"), ExpandIFFT, "true")):
        node.factor = 1 / N
        found = expansion.expansion(*graph(node, (dace.complex128,) * 2, ([N], [N])))
        assert f"{{1, 0, {back}, false, 1.0, double(1.0/N)," in found.code.as_string


@pytest.mark.parametrize("types", [(dace.float64,) * 2, (dace.complex64, dace.complex128), (dace.int64,) * 2])
def test_types_without_a_transform(types):
    with pytest.raises(TypeError, match="there is no transform from"):
        ExpandFourierTransform.expansion(*graph(FourierTransform(), types, ([4], [4])))


def test_dimensions_that_do_not_tell_the_axis():
    call = graph(FourierTransform(rank=2, axis=1), (dace.complex64,) * 2, ([1, 1, 4], [1, 1, 4]))
    with pytest.raises(TypeError, match="which of its dimensions are meant"):
        ExpandFourierTransform.expansion(*call)
