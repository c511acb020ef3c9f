"""Make the derivative of a function in one direction a function itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from sdgrad.autodiff.differentiate import push_tangents
from sdgrad.autodiff.forward import tangent_name
from sdgrad.autodiff.request import Request
from sdgrad.program.functions import returning
from sdgrad.program.naming import own_arguments
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program
from sdgrad.specialize.pullback import OfArguments
from sdgrad.specialize.signature import identity


@dataclass
class Pushed(OfArguments):
    """Map arguments of ``f`` and tangents of some of them to ``f``'s outputs and their tangents, as a program.

    The tangents are arguments by the names that :meth:`tangent` gives.
    """

    moved: tuple[str, ...]

    def identity(self) -> Hashable:
        return ("pushed", identity(self.f), self.own, self.moved)

    def tangent(self, name: str) -> str:
        """Return the argument that is the tangent of another one."""
        return f"tangent_of_{name}"

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the program that computes the outputs and their tangents."""
        signature = self.inner(arguments)
        program = signature.program
        present = tuple(n for n in self.moved if n in program.containers)
        pushed = push_tangents(program, Request(present, signature.moving, accumulate=False))
        places = {tangent_name(n, program): self.tangent(n) for n in present}
        renamed = renamed_program(pushed, places)
        dots = [tangent_name(o, program) for o in signature.moving]
        taken = [*own_arguments(program), *places.values()]
        return returning(renamed, taken, [*signature.outputs, *dots], [], {}), signature.closure

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs and of their tangents."""
        signature = self.inner(arguments)
        shapes = dict(zip(signature.outputs, signature.result_shapes(), strict=True))
        return [*shapes.values(), *(shapes[o] for o in signature.moving)]
