"""A container beside every container of a program: its adjoint, or its tangent."""

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
class Companions:
    """Containers of the same shape, made on demand."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    stem: ClassVar[str] = "companion"
    wider: ClassVar[Mapping[dace.typeclass, dace.typeclass]] = {}

    def container(self, name: str) -> Container:
        """The companion of a container; that of a view is the same view of the companion."""
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

    def register(self, name: str, companion: Container) -> None:
        self.of[name] = companion.name
        self.made[companion.name] = companion


@dataclass
class Tangents(Companions):
    """The tangents of containers; ``helpers`` are scratch containers, with the containers they serve."""

    stem = "tangent"
    helpers: dict[str, str] = field(default_factory=dict)
