"""What a user writes who has a type checker: ``make lint`` checks this file as strictly as mypy can.

``assert_type`` says what mypy must find. Lines that it must refuse say which error that is; one that is none any more
is an error itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import sdgrad
from sdgrad.testing import check_grads

Vector = npt.NDArray[np.float64]
X = np.linspace(0.3, 1.0, 5) ** 2


def energy(u: Vector, k: float = 0.1) -> float:
    """Take some steps in place."""
    v = u.copy()
    for _ in range(3):
        v[1:-1] += k * np.sin(v[2:] - 2.0 * v[1:-1] + v[:-2])
    return float(np.sum(v**2))


def layer(x: Vector, w: Vector) -> Vector:
    return np.tanh(w * x)


@dataclass
class Parameters:
    w: Vector
    b: float


def loss(parameters: Parameters, x: Vector) -> float:
    return float(np.sum(np.sin(parameters.w * x)) + parameters.b**2)


def gradients() -> None:
    """Derivatives of numbers have the parameters of their functions."""
    by_first = sdgrad.grad(energy)
    assert_type(by_first(X, 0.2), Vector)
    assert_type(by_first(X, k=0.2), Vector)
    assert_type(by_first(u=X), Vector)
    value, slope = sdgrad.value_and_grad(energy)(X)
    assert_type(value, float)
    assert_type(slope, Vector)
    value, (du, dk) = sdgrad.value_and_grad(energy, wrt=("u", "k"), memory_limit="1GiB")(X, 0.2)
    assert_type(value, float)
    du, dk = sdgrad.grad(energy, ["u", "k"])(X, 0.2)
    assert_type(sdgrad.grad(loss)(Parameters(X, 1.0), X), Parameters)
    forward, backward = sdgrad.grad(energy, requires=["u"])
    _, tape = forward(X)
    assert_type(tape, sdgrad.Tape)
    assert_type(backward(tape), dict[str, Any])
    assert isinstance(value, float) and isinstance(slope, np.ndarray) and du.shape == X.shape and float(dk)


def refused() -> None:
    """Mistakes that a type checker finds."""
    sdgrad.grad(energy)("text")  # type: ignore[call-overload]
    sdgrad.value_and_grad(energy, wrt=("u", "k"))(X, "text")  # type: ignore[arg-type]
    sdgrad.grad(energy, inplaces=True)  # type: ignore[call-overload]
    sdgrad.gradient(energy)  # type: ignore[attr-defined]


def products() -> None:
    """Products with Jacobians and Hessians, and the whole of them."""
    h, pullback = sdgrad.vjp(layer, X, X)
    assert_type(h, Vector)
    dx, dw = pullback(h)
    h, dh = sdgrad.jvp(layer, (X, X), (X, None))
    assert_type(dh, Vector)
    h, push = sdgrad.linearize(layer, X, X)
    assert_type(push(X, None), Vector)
    assert_type(sdgrad.jacobian(layer)(X, X), Vector)
    assert_type(sdgrad.hessian(energy)(X), Vector)
    assert_type(sdgrad.hessian(energy, ("u", "k"))(X, 0.1), tuple[tuple[Any, ...], ...])
    assert_type(sdgrad.hvp(energy, (X,), (X,)), Vector)
    each = sdgrad.vmap(energy, in_axes=(0, None))(np.stack([X, X]), 0.1)
    sparse = sdgrad.sparse_hessian(energy)
    assert each.shape == (2,) and dx.shape == dw.shape and sparse(X).shape == (5, 5)


@sdgrad.checkpoint
def step(x: Vector, n: int) -> Vector:
    return np.sin(x) * n


@sdgrad.checkpoint(policy="dots")
def product(a: Vector, x: Vector) -> Vector:
    return np.tanh(sdgrad.checkpoint_name(a @ x, "product"))


@sdgrad.custom_vjp
def clipped(x: Vector) -> Vector:
    return np.clip(x, 0.0, 0.5)


@clipped.defvjp
def clipped_adjoint(x: Vector, grad_out: Vector) -> Vector:
    return grad_out


@sdgrad.custom_jvp
@sdgrad.custom_vjp
def cube(x: Vector) -> Vector:
    return x**3


@cube.defvjp
def cube_adjoint(x: Vector, grad_out: Vector) -> Vector:
    return 3.0 * x**2 * grad_out


@cube.defjvp
def cube_tangent(x: Vector, tangent_x: Vector) -> Vector:
    return 3.0 * x**2 * tangent_x


def decorated() -> None:
    """Decorated functions are as they were, for type checkers as well."""

    def whole(x: Vector) -> float:
        return float(np.sum(step(x, 2)) + np.sum(clipped(x)) + np.sum(cube(x)) + np.sum(sdgrad.stop_gradient(x)))

    assert_type(step(X, 2), Vector)
    assert_type(product(np.eye(5), X), Vector)
    assert_type(clipped(X), Vector)
    assert_type(cube(X), Vector)
    table = sdgrad.pure_callback(layer, X)
    assert_type(table(X, X), Vector)
    compiled = sdgrad.compile_forward(energy)
    assert_type(compiled(X, 0.3), float)
    assert_type(sdgrad.grad(whole)(X), Vector)
    assert np.allclose(sdgrad.grad(whole)(X), 2 * np.cos(X) + 1.0 + 3 * X**2)


def solved() -> None:
    """Solutions are of the type of the first guess."""

    def residual(x: Vector, a: float) -> Vector:
        return x**2 - a

    assert_type(sdgrad.root(residual, X, (2.0,)), Vector)
    assert_type(sdgrad.fixed_point(lambda x: np.cos(x), 0.5), float)
    assert_type(sdgrad.minimize(lambda x: np.sum((x - 1.0) ** 2), X), Vector)
    assert_type(sdgrad.linear_solve(lambda x: 2.0 * x, X), Vector)
    solution = sdgrad.solve_ivp(lambda t, y: -y, (0.0, 1.0), X)
    assert solution.y is not None


def looked_at(folder: Path) -> None:
    """What is printed, measured and saved."""
    print(sdgrad.explain(energy, X).bytes_kept, sdgrad.memory_plan(energy, X, points=2).least, sdgrad.trace(energy, X))
    saved: Path = sdgrad.compile_gradient(energy, X).save(folder / "energy.sdgrad")
    value, slope = sdgrad.load(saved)(X, 0.1)
    report = check_grads(energy, (X, 0.1), wrt=("u", "k"))
    key = sdgrad.random.key(1)
    with sdgrad.config.override(blas="none"):
        draws = sdgrad.random.normal(key, (3,))
    assert report.passed and draws.shape == (3,) and float(value) and slope.shape == X.shape


def trained(model: sdgrad.onnx.Model, x: Vector) -> dict[str, Any]:
    """ONNX models: gradients are by name."""
    y, pullback = model.vjp(x)
    return pullback(y)


def module(made: Callable[[], Any]) -> sdgrad.Module:
    """PyTorch modules."""
    return sdgrad.Module(made(), memory_limit="50%")


def main(folder: Path) -> None:
    """Run all of it, but what needs ONNX and PyTorch."""
    gradients()
    products()
    decorated()
    solved()
    looked_at(folder)
