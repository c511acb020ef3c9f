"""Keep a container beside every container of a program: its shadow, which is an adjoint or a tangent."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import dace
from dace import data as dt

from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Program


@dataclass
class Shadows:
    """Make the shadow containers of a program, of the same shapes, on demand."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    stem: ClassVar[str] = "shadow"
    wider: ClassVar[Mapping[dace.typeclass, dace.typeclass]] = {}

    def container(self, name: str) -> Container:
        """Return the shadow of a container; the shadow of a view is the same view of the shadow."""
        if name not in self.of:
            primal = self.program.containers[name]
            desc = copy.deepcopy(primal.desc)
            desc.transient = True
            if isinstance(desc, (dt.Array, dt.Scalar)) and desc.dtype in self.wider:
                desc.dtype = self.wider[desc.dtype]
            fresh = self.names.fresh(f"{self.stem}_{name}")
            base = self.container(primal.view_of).name if primal.view_of else None
            self.register(name, Container(fresh, desc, base, primal.view_subset))
        return self.made[self.of[name]]

    def register(self, name: str, shadow: Container) -> None:
        """Take a given container as the shadow of another one."""
        self.of[name] = shadow.name
        self.made[shadow.name] = shadow


@dataclass
class Tangents(Shadows):
    """Hold the tangents of containers; ``helpers`` are scratch containers, with the containers they serve."""

    stem = "tangent"
    helpers: dict[str, str] = field(default_factory=dict)
