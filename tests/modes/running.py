"""The modes of execution of one program."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

import sdgrad

from .cells import Pack
from .references import along

_numbers = itertools.count()
Arrays = list[Any]


def load(pack: Pack) -> ModuleType:
    """The functions of a pack: what is recorded is converted from its source."""
    name = f"modes_{next(_numbers)}"
    module, text = ModuleType(name), pack.text()
    linecache.cache[f"<{name}>"] = (len(text), None, text.splitlines(keepends=True), f"<{name}>")
    exec(compile(text, f"<{name}>", "exec"), vars(module))  # noqa: S102
    return module


def listed(found: Any) -> Arrays:
    return list(found) if isinstance(found, (tuple, list)) else [found]


@dataclass
class Modes:
    """A pack's functions; seeds are the cotangents of its results, ways the directions of its parameters."""

    pack: Pack
    seeds: Arrays
    module: ModuleType = field(init=False)

    def __post_init__(self) -> None:
        self.module = load(self.pack)

    @property
    def given(self) -> Arrays:
        return self.pack.arguments()

    @property
    def taken(self) -> Arrays:
        """The seeds that are given."""
        return [s for s in self.seeds if s is not None]

    def all_ways(self, ways: dict[str, np.ndarray]) -> Arrays:
        return [ways.get(p) for p in self.pack.parameters]

    def compiled(self) -> Arrays:
        return listed(sdgrad.compile_forward(self.module.program)(*self.given))

    def reverse(self) -> tuple[Arrays, Arrays]:
        """Results, and the gradients by the moved parameters."""
        values, pullback = sdgrad.vjp(self.module.program, *self.given)
        found = dict(zip(self.pack.parameters, listed(pullback(*self.seeds)), strict=True))
        return listed(values), [found[p] for p in self.pack.moved]

    def forward(self, ways: dict[str, np.ndarray]) -> tuple[Arrays, Arrays]:
        """Results and their tangents."""
        values, dots = sdgrad.jvp(self.module.program, self.given, self.all_ways(ways))
        return listed(values), listed(dots)

    # Twice -------------------------------------------------------------------------------------------

    def forward_over_reverse(self, ways: dict[str, np.ndarray]) -> Arrays:
        """The gradients' derivative in a direction."""
        arguments = [*self.given, *self.taken]
        return listed(sdgrad.jvp(self.module.gradient, arguments, self.all_ways(ways) + [None] * len(self.taken))[1])

    def reverse_over_reverse(self, ways: dict[str, np.ndarray]) -> Arrays:
        """The gradients of the gradients' product with a direction."""
        _, pullback = sdgrad.vjp(self.module.gradient, *self.given, *self.taken)
        zeros = dict(zip(self.pack.moved, map(np.zeros_like, self._moved_values()), strict=True))
        found = listed(pullback(*(ways.get(p, zeros[p]) for p in self.pack.moved)))
        return [found[self.pack.parameters.index(p)] for p in self.pack.moved]

    def forward_over_forward(self, ways: dict[str, np.ndarray]) -> Arrays:
        """The second derivatives in a direction."""
        everywhere = dict(zip(self.pack.moved, map(np.zeros_like, self._moved_values()), strict=True)) | ways
        constants = list(everywhere.values())
        moves = self.all_ways(ways) + [None] * len(constants)
        return listed(sdgrad.jvp(self.module.direction, [*self.given, *constants], moves)[1])

    def gradients_apart(self, ways: dict[str, np.ndarray]) -> Arrays:
        """Differences of the compiled gradients."""
        gradient = sdgrad.compile_forward(self.module.gradient)

        def at(step: float) -> Arrays:
            places = zip(self.pack.parameters, self.given, strict=True)
            return listed(gradient(*(v + step * ways[p] if p in ways else v for p, v in places), *self.taken))

        return along(at)

    def _moved_values(self) -> Sequence[np.ndarray]:
        values = dict(zip(self.pack.parameters, self.given, strict=True))
        return [values[p] for p in self.pack.moved]


def by_halves(pack: Pack, attempt: Callable[[Pack], list], refuse: Callable[[Pack, Exception], list]) -> list:
    """What an attempt finds; where it raises an error, what it finds in the parts, down to single cells."""
    try:
        return attempt(pack)
    except Exception as error:  # noqa: BLE001 (whatever the engine raises is a finding)
        if len(pack.cells) == 1:
            return refuse(pack, error)
    middle = len(pack.cells) // 2
    parts = (Pack(pack.cells[:middle]), Pack(pack.cells[middle:]))
    return [f for part in parts for f in by_halves(part, attempt, refuse)]
