"""A compiled gradient and how it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np

from sdgrad.runtime.arrays import check, evaluate_shape, solve_symbols
from sdgrad.runtime.compile import Library


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled SDFG whose arguments are checked, completed and, where it writes them, copied."""

    sdfg: dace.SDFG
    library: Library
    written: frozenset[str]
    descs: Mapping[str, Any] = field(default_factory=dict)
    closure: Mapping[str, Any] = field(default_factory=dict)

    def __call__(
        self, arguments: Mapping[str, Any], results: Sequence[str], inplace: bool = False
    ) -> dict[str, np.ndarray]:
        """Run on ``arguments``; returns fresh arrays for ``results``, and the arguments written, by name."""
        call: dict[str, Any] = {}
        given = {**self.closure, **arguments}
        symbols = solve_symbols(dict(self.descs), given)
        for name, desc in self.descs.items():
            if name in given:
                value = check(name, given[name], desc)
                if name in self.written and not inplace and isinstance(value, np.ndarray):
                    value = value.copy()
                call[name] = value
            elif name in results or name not in given:
                call[name] = np.zeros(evaluate_shape(desc, symbols), desc.dtype.type)
        free = {s: v for s, v in symbols.items() if s in self.sdfg.symbols}
        free |= {k: v for k, v in given.items() if k in self.sdfg.symbols}
        self.library({**call, **free})
        return call
