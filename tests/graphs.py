"""Raw graphs: how they are called, and what their gradients are by differences of a NumPy function."""

import json
from collections.abc import Callable, Mapping

import dace
import numpy as np

from sdgrad.runtime.call.marshalling import evaluate_shape
from sdgrad.runtime.compile.cache import compile_sdfg

Values = dict[str, np.ndarray | int | float]


def copied(values: Mapping) -> Values:
    return {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}


def text(sdfg: dace.SDFG) -> str:
    """Everything a graph holds, to see whether it has changed."""
    return json.dumps(sdfg.to_json(), sort_keys=True, default=str)


def call(sdfg: dace.SDFG, values: Values, fill: bool = False) -> Values:
    """Run a graph; arrays are written in place. With ``fill``, arguments that are missing start as zeros."""
    sdfg.validate()
    arguments = sdfg.arglist()
    missing = [n for n in arguments if n not in values]
    assert fill or not missing, f"nothing given for {missing}"
    symbols = {k: v for k, v in values.items() if isinstance(v, int)}
    for name in missing:
        values[name] = np.zeros(evaluate_shape(arguments[name], symbols), arguments[name].dtype.type)
    compile_sdfg(sdfg)(values)
    return values


def gradients(names, values: Values) -> Values:
    """Arrays of zeros for ``gradient_<name>``; those of scalars have one element."""
    return {f"gradient_{n}": np.zeros(np.shape(values[n]) or (1,), np.asarray(values[n]).dtype) for n in names}


def seeds(names, values: Values, rng: np.random.Generator) -> Values:
    """Random cotangents in ``gradient_<name>``."""
    return {k: rng.standard_normal(v.shape).astype(v.dtype) for k, v in gradients(names, values).items()}


def differences(function: Callable[[Values], Values], values: Values, wrt, cotangents: Values) -> Values:
    """``gradient_<name>`` of ``sum(cotangents * outputs)`` by central differences of fourth order."""

    def total(name: str, index: tuple, step: float) -> float:
        moved = copied(values)
        array = np.array(moved[name], dtype=float)
        array[index] += step
        moved[name] = array if array.shape else float(array)
        result = function(moved)
        return sum(float(np.sum(v * np.reshape(result[k[9:]], v.shape))) for k, v in cotangents.items())

    def slope(name: str, index: tuple, h: float = 1e-3) -> float:
        near, far = (total(name, index, s * h) - total(name, index, -s * h) for s in (1, 2))
        return (8 * near - far) / (12 * h)

    found = gradients(wrt, values)
    for name in wrt:
        for index in np.ndindex(found[f"gradient_{name}"].shape):
            found[f"gradient_{name}"][index] = slope(name, index if np.shape(values[name]) else ())
    return found
