"""One program of a field: the function, arguments for it, and by what it is differentiated."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

cases: dict[str, "Case"] = {}


@dataclass(frozen=True)
class Case:
    """A function that returns a number, and arguments for it.

    :param make: returns the arguments, from a random number generator.
    :param wrt: what it is differentiated by: a position, a name, or several.
    :param tolerance: of the gradient, relative to its largest element, against differences.
    """

    function: Callable
    make: Callable[[np.random.Generator], tuple]
    wrt: Any
    tolerance: float
    name: str

    def arguments(self) -> tuple:
        """Return arguments of its own for each call: programs may write them."""
        return copy.deepcopy(self.make(np.random.default_rng(7)))

    def value(self) -> float:
        """Return what NumPy computes."""
        return self.function(*self.arguments())

    def slope(self, gradient: Any) -> tuple[float, float]:
        """Return the derivative along a random direction: by the gradient, and by differences of fourth order."""
        given = self.arguments()
        chosen = given[self.wrt] if isinstance(self.wrt, int) else tuple(given[k] for k in self.wrt)
        leaves, form = optree.tree_flatten(chosen)
        rng = np.random.default_rng(11)
        floats = [np.asarray(x).dtype.kind == "f" for x in leaves]
        steps = [rng.standard_normal(np.shape(x)) if f else None for x, f in zip(leaves, floats, strict=True)]
        parts = optree.tree_leaves(gradient, none_is_leaf=True)
        along = sum(float(np.sum(g * s)) for g, s in zip(parts, steps, strict=True) if s is not None)

        def moved(t: float) -> float:
            new = [x if s is None else x + t * s for x, s in zip(leaves, steps, strict=True)]
            inner = optree.tree_unflatten(form, new)
            args = list(self.arguments())
            for k, value in [(self.wrt, inner)] if isinstance(self.wrt, int) else zip(self.wrt, inner, strict=True):
                args[k] = value
            return float(self.function(*args))

        h = 1e-4
        near, far = moved(h) - moved(-h), moved(2 * h) - moved(-2 * h)
        return along, (8 * near - far) / (12 * h)


def case(make: Callable[[np.random.Generator], tuple], wrt: Any = 0, tolerance: float = 1e-6) -> Callable:
    """Collect a function as a program of its module's field."""

    def collect(function: Callable) -> Callable:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        assert name not in cases, name
        cases[name] = Case(function, make, wrt, tolerance, name)
        return function

    return collect
