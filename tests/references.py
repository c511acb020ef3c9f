"""Programs of the zoo through the engine, and through JAX or a closed form."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from programs import Program, flat

from sdgrad.autodiff.forward import tangent_name
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.specialize.compiled_gradient import CompiledGradient
from sdgrad.specialize.signature import Signature, compile_gradients, compile_tangents

TOLERANCES = {2: 2e-2, 4: 1e-4, 8: 1e-9}
"""Relative error of an element, by the bytes of the least precise number in a program."""


def precision(program: Program, arguments) -> int:
    """Bytes of the least precise real number that a program computes with."""
    parts = [np.finfo(a.dtype).dtype.itemsize for a in map(np.asarray, arguments) if a.dtype.kind in "fc"]
    return min([*parts, 4] if {"float32", "complex64"} & program.tags else parts)


def assert_close(found, wanted, tolerance: float, what: str) -> None:
    """Each element by itself; only elements that are zero but for rounding are measured by the largest."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, not {wanted.shape}"
    wide = np.complex128 if "c" in (found.dtype.kind, wanted.dtype.kind) else np.float64
    found, wanted = found.astype(wide), wanted.astype(wide)
    size = np.abs(wanted)
    allowed = tolerance * (size + 1e-3 * max(1.0, float(np.max(size, initial=0.0))))
    wrong = ~(np.abs(found - wanted) <= allowed) & ~(np.isnan(found) & np.isnan(wanted)) & (found != wanted)
    assert not np.any(wrong), f"{what} at {np.argwhere(wrong)[:3].tolist()}\nfound  {found}\nwanted {wanted}"


@dataclass
class Run:
    """One program with arguments, its result in NumPy, and a cotangent for each part of the result that has one."""

    program: Program
    arguments: dict
    result: tuple
    cotangents: list

    @staticmethod
    def of(program: Program, seed: int = 1) -> "Run":
        rng = np.random.default_rng(seed)
        values = program.inputs(rng)
        result = program.run(*values)
        cotangents = [_cotangent(r, rng, program.expected is not None) for r in result]
        return Run(program, dict(zip(program.argument_names, values, strict=True)), result, cotangents)

    @property
    def wrt(self) -> tuple[str, ...]:
        return tuple(self.program.argument_names[i] for i in self.program.wrt_positions)

    @property
    def tolerance(self) -> float:
        return TOLERANCES[precision(self.program, self.arguments.values())]


def _cotangent(result, rng, ones: bool):
    """A random cotangent (ones for the closed forms, which are of the sum); None for integers."""
    array = np.asarray(result)
    if array.dtype.kind not in "fc":
        return None
    value = np.ones(array.shape) if ones else rng.standard_normal(array.shape)
    if array.dtype.kind == "c" and not ones:
        value = value + 1j * rng.standard_normal(array.shape)
    return value.astype(array.dtype)


# The engine ------------------------------------------------------------------------------------------


def engine(run: Run) -> tuple[list, dict]:
    """The result and the gradients by argument, from one compiled program."""
    arguments = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in run.arguments.items()}
    signature, names, request = _question(run)
    compiled = signature.gradient(request)
    seeds = {
        name: _as_argument(c, compiled, name)
        for name, c in zip((seed_name(n, signature.program, request) for n in names), run.cotangents, strict=True)
        if c is not None
    }
    found = compiled({**signature.arguments(arguments), **seeds})
    result = [found[n].reshape(np.shape(r)) for n, r in zip(names, run.result, strict=True)]
    for name, value in arguments.items():
        assert np.array_equal(value, run.arguments[name], equal_nan=True), f"the caller's {name} was changed"
    return result, {w: _gradient(w, request, signature, found, arguments[w]) for w in run.wrt}


def _results(signature: Signature, program: Program) -> tuple[str, ...]:
    returned = [n for n in signature.program.arguments if n.startswith("__return")]
    return (*sorted(returned, key=lambda n: int(n[9:] or 0) if n != "__return" else 0), *program.mutates)


def floats_of(signature: Signature, program: Program) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a program returns and writes, and what of it has a derivative."""
    names = _results(signature, program)
    return names, tuple(n for n in names if signature.is_float(n))


def _question(run: Run) -> tuple[Signature, tuple[str, ...], Request]:
    """The signature of a run, what the program returns and writes, and which gradients are asked for."""
    signature = Signature.of(run.program.function, run.arguments)
    names, floats = floats_of(signature, run.program)
    present = tuple(w for w in run.wrt if w in signature.program.containers)
    return signature, names, Request(present, floats, accumulate=False)


TOGETHER = 8  # programs for one call of the compiler, which takes longer for its headers than for a program


class Parts:
    """Programs of which some at a time are compiled, when the first of these is wanted.

    Errors are left to the tests of the programs that have them.
    """

    def __init__(self, programs: Sequence[Program], forward: bool = False) -> None:
        self.programs, self.forward, self.done = programs, forward, set()

    def compile(self, program: Program) -> None:
        part = self.programs.index(program) // TOGETHER
        if part in self.done:
            return
        self.done.add(part)
        asked = []
        for one in self.programs[part * TOGETHER : (part + 1) * TOGETHER]:
            with contextlib.suppress(Exception):
                signature, _, request = _question(Run.of(one))
                if not self.forward:
                    signature.differentiated(request)
                asked.append((signature, request))
        with contextlib.suppress(Exception):
            (compile_tangents if self.forward else compile_gradients)(asked)


def _as_argument(value: np.ndarray, compiled: CompiledGradient, name: str) -> np.ndarray:
    shape = compiled.program.descs[name].shape
    symbolic = any(getattr(n, "free_symbols", None) for n in shape)
    return value.reshape(value.shape if symbolic else [int(n) for n in shape])


def _gradient(name: str, request: Request, signature: Signature, found, argument) -> np.ndarray:
    if name not in request.inputs:
        return np.zeros(np.shape(argument))
    return found[gradient_name(name, signature.program)].reshape(np.shape(argument))


# References ------------------------------------------------------------------------------------------


def reference(run: Run) -> dict:
    """Gradients by argument, from a closed form or from JAX."""
    program = run.program
    if program.expected is not None:
        found = program.expected(*run.arguments.values())
        return dict(zip(run.wrt, found if isinstance(found, tuple) else (found,), strict=True))
    assert program.jax is not None, f"{program.name} has no reference"
    values = list(run.arguments.values())

    def pulled(*actives):
        given = list(values)
        for position, value in zip(program.wrt_positions, actives, strict=True):
            given[position] = value
        return _inner(run.cotangents, flat(program.jax(*given)))

    actives = [jnp.asarray(values[i]) for i in program.wrt_positions]
    found = computed(jax.grad(pulled, argnums=tuple(range(len(actives)))), *actives)
    return {w: np.conj(np.asarray(g)) for w, g in zip(run.wrt, found, strict=True)}


def computed(function, *actives):
    """JAX's result; compiled as a whole, which takes a third of the time, unless Python asks for its numbers."""
    try:
        return jax.jit(function)(*actives)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, jax.errors.UnexpectedTracerError):
        return function(*actives)


def _inner(cotangents, result):
    """``Re(sum(conj(v) * y))`` in double precision."""
    assert len(result) == len(cotangents)
    wide = [
        (c.astype(np.complex128 if c.dtype.kind == "c" else np.float64), r)
        for c, r in zip(cotangents, result, strict=True)
        if c is not None
    ]
    return sum(jnp.real(jnp.sum(jnp.conj(c) * r)) for c, r in wide)


def check(program: Program) -> None:
    """Values equal NumPy's, gradients equal the reference's."""
    run = Run.of(program)
    result, gradients = engine(run)
    for k, (found, wanted) in enumerate(zip(result, run.result, strict=True)):
        assert_close(found, wanted, run.tolerance, f"value {k} of {program.name}")
    wanted = reference(run)
    for name in run.wrt:
        assert np.all(np.isfinite(wanted[name])), f"the reference of {name} is not finite"
        assert_close(gradients[name], wanted[name], run.tolerance, f"gradient of {name} in {program.name}")


def check_forward(program: Program) -> None:
    """The tangent of the result, weighted by its cotangents, is the reference's gradient in the same direction."""
    run = Run.of(program)
    rng = np.random.default_rng(2)
    signature, names, request = _question(run)
    compiled = signature.tangent(request)
    moved = {w: direction(run.arguments[w], rng) for w in run.wrt}
    given = {tangent_name(w, signature.program): moved[w].reshape(np.shape(moved[w]) or (1,)) for w in request.inputs}
    found = compiled({**signature.arguments(run.arguments), **given})
    wanted = sum(np.sum(np.real(np.conj(g) * moved[w])) for w, g in reference(run).items())
    value, scale = 0.0, abs(wanted)
    for name, cotangent, result in zip(names, run.cotangents, run.result, strict=True):
        assert_close(found[name].reshape(np.shape(result)), result, run.tolerance, f"value {name} of {program.name}")
        if cotangent is not None:
            dot = found[tangent_name(name, signature.program)].reshape(np.shape(result))
            parts = np.real(np.conj(cotangent).astype(np.complex128) * dot)
            value, scale = value + np.sum(parts), scale + np.sum(np.abs(parts))
    assert abs(value - wanted) <= 10 * run.tolerance * scale, f"{program.name}: found {value}, wanted {wanted}"


def direction(argument, rng) -> np.ndarray:
    array = np.asarray(argument)
    value = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        value = value + 1j * rng.standard_normal(array.shape)
    return np.asarray(value, dtype=array.dtype)
