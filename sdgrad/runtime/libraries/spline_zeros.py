"""Define the library node that finds zeros of piecewise polynomials and splines: SciPy does so, called at run time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import dace
import dace.library
import numpy as np
import scipy.interpolate as interpolate
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime.compile.python_call import CallsPython, array_at, calling, failed

TAKES, GIVES = ("_c", "_x", "_level"), ("_zeros", "_at", "_count")
SMALL = 1e-6  # of the size of a polynomial: what is larger at a zero is a step from one sign to the other


def of_polynomial(c: np.ndarray, x: np.ndarray, level: np.ndarray, how: Mapping[str, Any]) -> tuple:
    """Return zeros of a piecewise polynomial, and the intervals that they are in: -1 of those at breakpoints."""
    own = interpolate.PPoly(c, x)
    found = own.solve(level[0], how["steps"], how["extrapolate"])
    at = np.clip(np.searchsorted(x, found, side="right") - 1, 0, c.shape[1] - 1)
    powers = (np.nan_to_num(found) - x[at]) ** np.arange(c.shape[0] - 1, -1, -1)[:, None]
    size = np.sum(np.abs(c[:, at] * powers), axis=0) + np.abs(level[0])
    beside = np.abs(np.sum(c[:, at] * powers, axis=0) - level[0]) > SMALL * size
    flat = np.isnan(np.append(found[1:], 0.0)) | np.isnan(found)  # zero all along an interval
    return found, np.where(beside | flat, -1, at)


def of_spline(c: np.ndarray, t: np.ndarray, level: np.ndarray, how: Mapping[str, Any]) -> tuple:
    """Return zeros of a cubic spline between its knots."""
    found = np.asarray(interpolate.sproot((t, c, 3), how["most"]))
    return found, np.zeros(found.shape)


METHODS: dict[str, Callable] = {"polynomial": of_polynomial, "spline": of_spline}


def run(text: str, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
    """Find zeros of what is at these addresses: generated code calls this."""
    how = json.loads(text)
    targets = [array_at(a, s, d) for a, (s, d) in zip(outputs, how["gives"], strict=True)]
    try:
        given = [array_at(a, s, d).copy() for a, (s, d) in zip(inputs, how["takes"], strict=True)]
        found, at = METHODS[how["method"]](*given, how)
        zeros, intervals, count = targets
        zeros[...], intervals[...], count[0] = given[1][0], 0, len(found)
        zeros[: len(found)], intervals[: len(found)] = found, at
    except BaseException as error:  # noqa: BLE001 (it must not pass through C)
        failed(error, targets)
    return True


@dace.library.expansion
class ExpandZeros(ExpandTransformation):
    """Expand to the tasklet that calls."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Zeros, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        inputs = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        outputs = {e.src_conn: sdfg.arrays[e.data.data] for e in state.out_edges(node)}
        takes, gives = {n: inputs[n] for n in TAKES}, {n: outputs[n] for n in GIVES}
        return calling(node.label, __name__, node.text.replace('"', r"\""), takes, gives)


@dace.library.node
class Zeros(CallsPython, nd.LibraryNode):
    """Find the zeros of what has coefficients ``_c`` and breakpoints or knots ``_x``, less a ``_level``."""

    implementations: ClassVar[dict[str, type]] = {"python": ExpandZeros}
    default_implementation: ClassVar[str] = "python"

    text = properties.Property(dtype=str, default="", desc="What is called and how, as JSON")

    def __init__(self, text: str = "") -> None:
        super().__init__("zeros", inputs=set(TAKES), outputs=set(GIVES))
        self.text = text
