"""Compute a function's derivative in many directions by one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdgrad.autodiff.differentiate import push_tangents
from sdgrad.autodiff.forward import tangent_name
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.errors import ArgumentError
from sdgrad.program.naming import own_arguments, returned
from sdgrad.program.tree import Program
from sdgrad.rewrite.directions import direction_name, in_every_direction, in_given_directions
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.specialize.communicating import refuse_communication
from sdgrad.specialize.complex_jacobian import allowed_mode, is_conjugated
from sdgrad.specialize.signature import Signature, identity


def linearized(
    signature: Signature, names: tuple[str, ...], outputs: tuple[str, ...], mode: str
) -> tuple[Program, list[str], list[str]]:
    """Return the program of a mode, the arguments that take its seeds, and the arguments that hold its results."""
    program, request = signature.program, Request(names, outputs, accumulate=False)
    if mode == "forward":
        seeds, results = ([tangent_name(n, program) for n in x] for x in (names, outputs))
        return push_tangents(program, request), seeds, results
    seeds = [seed_name(n, program, request) for n in outputs]
    results = [gradient_name(n, program) for n in names]
    return signature.differentiated(replace(request, part=True)).program, seeds, results


@dataclass
class Columns:
    """Compute the Jacobian by one argument, as a function."""

    f: Callable
    name: str
    mode: str
    place: int = 0  # of the output among the function's
    holomorphic: bool = False

    def identity(self) -> Hashable:
        return ("jacobian", identity(self.f), self.name, self.mode, self.place, self.holomorphic)

    def is_forward(self, signature: Signature) -> bool:
        """True if forward mode computes it.

        :raises ArgumentError: the mode does not, or the function has no complex derivative.
        """
        program, output = signature.program, signature.outputs[self.place]
        mode = allowed_mode(program, self.name, output, self.mode, self.holomorphic)
        sizes = [int(np.prod([int(n) for n in program.containers[n].shape])) for n in (self.name, output)]
        return mode == "forward" or mode == "auto" and sizes[0] <= sizes[1]

    def is_conjugated(self, signature: Signature) -> bool:
        """True if the program computes the conjugate of the Jacobian."""
        if self.name not in signature.program.containers:
            return False
        return is_conjugated(signature.program, self.name, signature.outputs[self.place], self.is_forward(signature))

    def finished(self, signature: Signature, matrix: Any) -> Any:
        """Return the Jacobian from what the program has computed."""
        return np.conj(matrix) if self.is_conjugated(signature) else matrix

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shape of the Jacobian: that of the output, and then that of the argument."""
        result = Signature.of(self.f, arguments).result_shapes()[self.place]
        return [(*result, *np.shape(as_array(arguments[self.name])))]

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the program in forward or in reverse mode, whichever has fewer directions."""
        signature = Signature.of(self.f, arguments)
        refuse_communication(signature)
        program, output = signature.program, signature.outputs[self.place]
        forward = self.is_forward(signature)
        mode = "forward" if forward else "reverse"
        moved, seeds, results = linearized(signature, (self.name,), (output,), mode)
        shapes = np.shape(as_array(arguments[self.name])), signature.result_shapes()[self.place]
        ends = (seeds[0], results[0]) if forward else (results[0], seeds[0])
        numbers = {end for end, shape in zip(ends, shapes, strict=True) if not shape}
        looped = in_every_direction(moved, own_arguments(program), seeds[0], results, forward, numbers)
        return looped, signature.closure


@dataclass
class Directions:
    """Compute derivatives of all outputs by some arguments, or the other way round, in ``count`` directions at once."""

    f: Callable
    names: tuple[str, ...]
    mode: str
    count: int = 0

    def identity(self) -> Hashable:
        return ("directions", identity(self.f), self.names, self.mode, self.count)

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        signature = Signature.of(self.f, arguments)
        moved, seeds, results = linearized(signature, self.names, signature.outputs, self.mode)
        own = own_arguments(signature.program)
        return in_given_directions(moved, own, seeds, results, self.count), signature.closure

    def run(self, arguments: Mapping[str, Any], *directions: np.ndarray) -> list[np.ndarray]:
        """Return one array for each result, with the directions' axis in front of its own.

        :param directions: for each seed (arguments in forward mode, outputs in reverse) an array with one more axis in
            front, of the same length for all.
        """
        own = Directions(self.f, self.names, self.mode, len(directions[0]))
        signature, inner = Signature.of(own, arguments), Signature.of(self.f, arguments)
        request = Request(self.names, inner.outputs, accumulate=False)
        forward = self.mode == "forward"
        seeds = self.names if forward else inner.outputs
        names = [
            direction_name(tangent_name(n, inner.program) if forward else seed_name(n, inner.program, request))
            for n in seeds
        ]
        given = {
            n: np.ascontiguousarray(d.reshape([int(k) for k in signature.program.containers[n].shape]))
            for n, d in zip(names, directions, strict=True)
        }
        found = signature.primal()({**signature.arguments(arguments), **given})
        return [found[n] for n in returned(signature.program)]


def as_directions(values: Any, model: Any, count: int, what: str) -> np.ndarray:
    """Return checked tangents of one argument: of the shape of ``model``, with one more axis in front."""
    array, wanted = np.asarray(as_array(values)), np.asarray(as_array(model))
    if array.shape != (count, *wanted.shape):
        raise ArgumentError(f"{what}: expected shape {(count, *wanted.shape)}, found {array.shape}")
    return array.astype(wanted.dtype, copy=False)
