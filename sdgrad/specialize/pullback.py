"""Make the pullback of a function a function itself, which higher orders differentiate again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.program.functions import returning
from sdgrad.program.naming import own_arguments
from sdgrad.program.tree import Program
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.specialize.signature import Signature, identity


@dataclass
class OfArguments:
    """A function of the arguments of ``f``, and of directions."""

    f: Callable
    own: tuple[str, ...]  # the arguments of f

    def inner(self, arguments: Mapping[str, Any]) -> Signature:
        """Return ``f`` for its arguments among these."""
        return Signature.of(self.f, {n: arguments[n] for n in self.own})


@dataclass
class Pullback(OfArguments):
    """Map arguments of ``f`` and cotangents of its outputs to gradients by ``wanted``, as a program.

    The cotangents are arguments by the names that :meth:`cotangents` gives.
    """

    wanted: tuple[str, ...]
    outputs: tuple[str, ...] | None = None  # that have a cotangent; all real ones unless given
    part: bool = True  # as a request has it

    def identity(self) -> Hashable:
        return ("pullback", identity(self.f), self.wanted, self.outputs, self.part)

    def request(self, signature: Signature) -> Request:
        present = tuple(n for n in self.wanted if n in signature.program.containers)
        outputs = self.outputs or tuple(o for o in signature.outputs if signature.is_float(o))
        return Request(present, outputs, accumulate=False, part=self.part)

    def cotangents(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the names of the arguments that are cotangents, one for each output."""
        signature = self.inner(arguments)
        request = self.request(signature)
        return [seed_name(o, signature.program, request) for o in request.outputs]

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the gradients."""
        return [np.shape(as_array(arguments[n])) for n in self.wanted]

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the pullback as a program that returns the gradients."""
        signature = self.inner(arguments)
        request = self.request(signature)
        program = signature.differentiated(request).program
        gradients = {n: gradient_name(n, signature.program) for n in self.wanted}
        zeros = {gradients[n]: np.asarray(as_array(arguments[n])) for n in self.wanted if n not in request.inputs}
        seeds = [seed_name(o, signature.program, request) for o in request.outputs]
        taken = [*own_arguments(signature.program), *seeds]
        return returning(program, taken, list(gradients.values()), [], zeros), signature.closure
