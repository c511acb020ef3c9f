"""Take the arguments of a call apart: nests of arrays become arguments of their own, and gradients nests again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdgrad.convert.callables import bind_arguments
from sdgrad.record.nests import Nest, OfLeaves, by_leaves, unflatten
from sdgrad.runtime.call.device_arrays import dtype_of
from sdgrad.specialize.argnums import Wrt, arguments_of, names_of, several


@dataclass(frozen=True)
class Call:
    """Hold one call of a function.

    :param f: the function of the leaves: the user's own if no argument is a nest.
    :param arguments: the leaves, by name.
    :param order: the arguments of the user's function.
    :param nests: those of them that are nests.
    """

    f: Callable
    arguments: Mapping[str, Any]
    order: tuple[str, ...]
    nests: Mapping[str, Nest]

    @staticmethod
    def of(f: Callable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """Bind arguments to a function.

        :raises ArgumentError: they do not fit.
        """
        given = bind_arguments(f, tuple(args), kwargs)
        leaves, nests = by_leaves(given)
        order = tuple(given)
        return Call(OfLeaves(f, order, tuple(nests.items())) if nests else f, leaves, order, nests)

    def leaves(self, wrt: Wrt) -> list[str]:
        """Return the floating-point leaves of the arguments that a derivative is taken by.

        :raises ArgumentError: an argument has none.
        """
        found: list[str] = []
        for name in arguments_of(wrt, self.f, self.order):
            if name in self.nests:
                found += [n for n in self.nests[name].names if dtype_of(self.arguments[n]).kind in "fc"]
            else:
                found += names_of(name, self.f, self.arguments)
        return found

    def nested(self, wrt: Wrt, values: Mapping[str, Any]) -> Any:
        """Return what belongs to leaves in the nests of their arguments; None where there is nothing."""
        found = tuple(self.nest(n, values) for n in arguments_of(wrt, self.f, self.order))
        return found if several(wrt) else found[0]

    def nest(self, name: str, values: Mapping[str, Any]) -> Any:
        """Return what belongs to the leaves of one argument."""
        if name not in self.nests:
            return values.get(name)
        return unflatten(self.nests[name].form, [values.get(n) for n in self.nests[name].names])
