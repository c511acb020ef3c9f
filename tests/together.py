"""Check many expressions in one program: values, and derivatives of first and second order."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import sdgrad

_numbers = itertools.count()
SHARES = {1: 45.0, 2: -9.0, 3: 1.0}
Arrays = Sequence[Any]


def programs(texts: Sequence[str], names: Mapping[str, Any], parameters: Sequence[str]) -> tuple[Callable, Callable]:
    """The function that returns all expressions in a row, and a sum with weights; converted from their source."""
    given = ", ".join(parameters)
    parts = "".join(f"        np.ravel({text}),\n" for text in texts)
    source = (
        f"def program({given}):\n    return np.concatenate([\n{parts}    ])\n\n"
        f"def total(weights, {given}):\n    return np.sum(weights * program({given}))\n"
    )
    module = ModuleType(f"together_{next(_numbers)}")
    vars(module).update({"np": np, **names})
    linecache.cache[f"<{module.__name__}>"] = (len(source), None, source.splitlines(True), f"<{module.__name__}>")
    exec(compile(source, f"<{module.__name__}>", "exec"), vars(module))  # noqa: S102
    return module.program, module.total


def along(f: Callable, given: Arrays, way: Arrays, step: float) -> Any:
    """The derivative in a direction by differences of sixth order."""

    def at(t: float) -> Any:
        return np.asarray(f(*(x + t * d for x, d in zip(given, way, strict=True))))

    with np.errstate(invalid="ignore"):
        return sum(share * (at(k * step) - at(-k * step)) for k, share in SHARES.items()) / (60.0 * step)


def flat(found: Any) -> np.ndarray:
    parts = found if isinstance(found, tuple) else (found,)
    return np.concatenate([np.ravel(p) for p in parts])


def others(texts: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The expressions whose values no comparison of derivatives has compared."""
    return [text for text in texts if text not in set(chosen)]


def value_differences(texts: Sequence[str], names: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Which expressions have other values than SciPy's."""
    f, _ = programs(texts, names, list(given))
    sizes = [np.size(eval(t, {"np": np, **names}, dict(given))) for t in texts]  # noqa: S307
    values = [np.asarray(v, float) for v in given.values()]
    parts = (np.split(x, np.cumsum(sizes)[:-1]) for x in (sdgrad.compile_forward(f)(*values), f(*values)))
    triples = zip(texts, *parts, strict=True)
    return [f"{t}: {a}, and not {b}" for t, a, b in triples if not _same(a, b)]


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
    return np.allclose(a, b, rtol=1e-12, atol=1e-12 * scale, equal_nan=True)


def differences(
    texts: Sequence[str],
    names: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    tolerance: float = 1e-12,
    loose: float = 1e-7,
    second: bool = True,
    step: float = 2e-3,
) -> list[str]:
    """What differs from SciPy and from its differences, in words.

    With ``second``, the program of the second derivatives gives the gradients as well.
    """
    f, total = programs(texts, names, list(given))
    values = [np.asarray(v, float) for v in given.values()]
    sizes = [np.size(eval(t, {"np": np, **names}, dict(given))) for t in texts]  # noqa: S307
    rng = np.random.default_rng(3)
    way = [rng.uniform(0.5, 1.0, v.shape) * rng.choice([-1, 1], v.shape) for v in values]
    found: list[str] = []

    def compare(what: str, own: Any, wanted: Any, rtol: float) -> None:
        parts = (np.split(x, np.cumsum(sizes)[:-1]) for x in (own, wanted))
        for text, a, b in zip(texts, *parts, strict=True):
            scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
            if not np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True):
                found.append(f"{what} of {text}: {a}, and not {b}")

    value, slope = sdgrad.jvp(f, tuple(values), tuple(way))
    compare("value", value, f(*values), tolerance)
    apart = along(f, values, way, step)
    compare("derivative", slope, np.where(np.isfinite(f(*values)), apart, 0.0), loose)  # no number: a constant
    weights = rng.uniform(0.5, 1.0, np.size(slope))
    gradient = sdgrad.grad(total, wrt=tuple(range(1, len(values) + 1)))
    if second:
        still = [np.zeros_like(v) for v in values]

        def pushed(*at: Any, ways: Arrays = still) -> tuple[np.ndarray, np.ndarray]:
            pair = sdgrad.jvp(gradient, (weights, *at), (None, *ways))
            return flat(pair[0]), flat(pair[1])

        slopes, own = pushed(*values, ways=way)
        wanted = along(lambda *v: pushed(*v)[0], values, way, step)
        if not np.allclose(own, wanted, rtol=10 * loose, atol=10 * loose * np.max(np.abs(wanted))):
            k = np.argsort(-np.abs(own - wanted))[:5]
            found.append(f"second derivative at {k}: {own[k]}, and not {wanted[k]}")
    else:
        slopes = flat(gradient(weights, *values))
    reverse = slopes @ flat(tuple(way))
    if not np.isclose(reverse, weights @ slope, rtol=1e-9, atol=1e-9):
        found.append(f"derivative by the gradient: {reverse}, and forward {weights @ slope}")
    return found
