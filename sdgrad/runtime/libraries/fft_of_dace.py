"""Expand DaCe's own nodes of Fourier transforms, of vectors, to calls of pocketfft."""

from __future__ import annotations

from typing import Any

import dace
import dace.library
import sympy
from dace import nodes as nd
from dace.libraries.fft import FFT, IFFT

from sdgrad.program.implementations import IMPLEMENTATIONS
from sdgrad.runtime.libraries.fft import IMPLEMENTATION, Expand, FourierTransform, tasklet


def _expanded(node: Any, back: bool, state: dace.SDFGState, sdfg: dace.SDFG) -> nd.Tasklet:
    """Generate the tasklet of one of DaCe's nodes, which have any number as a factor."""
    factor = f"double({sympy.ccode(sympy.sympify(node.factor))})"
    return tasklet(node, FourierTransform(back=back), state, sdfg, factor)


@dace.library.register_expansion(FFT, IMPLEMENTATION)
class ExpandFFT(Expand):
    """Expand a transform."""

    @staticmethod
    def expansion(node: FFT, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return _expanded(node, False, state, sdfg)


@dace.library.register_expansion(IFFT, IMPLEMENTATION)
class ExpandIFFT(Expand):
    """Expand a transform back."""

    @staticmethod
    def expansion(node: IFFT, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return _expanded(node, True, state, sdfg)


IMPLEMENTATIONS[FFT] = IMPLEMENTATIONS[IFFT] = IMPLEMENTATION
