"""Take the arguments of a call apart: nests of arrays become arguments of their own, and gradients nests again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sdgrad.convert.callables import bind_arguments, signature_of
from sdgrad.errors import ArgumentError
from sdgrad.lift.symbol_values import check_sizes, symbols_given, with_symbols
from sdgrad.record.calls import example
from sdgrad.record.nests import Form, Nest, OfLeaves, by_leaves, matched, unflatten
from sdgrad.record.sparse.nesting import same_places
from sdgrad.runtime.call.device_arrays import dtype_of
from sdgrad.specialize.argnums import Wrt, arguments_of, names_of, several


@dataclass(frozen=True)
class Call:
    """Hold one call of a function.

    :param f: the function of the leaves: the user's own if no argument is a nest.
    :param arguments: the leaves, by name.
    :param order: the arguments of the user's function.
    :param nests: those of them that are nests.
    :param symbols: the symbols of DaCe that the call gives values; ``f`` has numbers in their place.
    """

    f: Callable
    arguments: Mapping[str, Any]
    order: tuple[str, ...]
    nests: Mapping[str, Nest]
    symbols: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(f: Callable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """Bind arguments to a function.

        :raises ArgumentError: they do not fit.
        """
        symbols = symbols_given(f, kwargs)
        own = with_symbols(f, symbols) if symbols else f
        given = bind_arguments(own, tuple(args), {n: v for n, v in kwargs.items() if n not in symbols})
        if symbols:
            check_sizes(f, given, symbols)
        leaves, nests = by_leaves(given)
        order = tuple(given)
        return Call(OfLeaves(own, order, tuple(nests.items())) if nests else own, leaves, order, nests, symbols)

    @property
    def is_of_another(self) -> bool:
        """True if the function is not the one that the user calls: one of leaves, or with numbers for symbols."""
        return bool(self.nests or self.symbols)

    def leaves(self, wrt: Wrt) -> list[str]:
        """Return the floating-point leaves of the arguments that a derivative is taken by.

        :raises ArgumentError: an argument has none.
        """
        found: list[str] = []
        for form, names in self.parts(wrt):
            if form is None:
                found += names_of(names[0], self.f, self.arguments)
            else:
                found += [n for n in names if dtype_of(self.arguments[n]).kind in "fc"]
        return found

    def parts(self, wrt: Wrt) -> list[tuple[Form | None, tuple[str, ...]]]:
        """Return form and leaves of each argument that a derivative is taken by; what is no nest has no form.

        Positions count the elements of ``*args``, which has a name as a whole.
        """
        known, elements = list(self.order), self._elements()
        if elements:
            k = known.index(str(self.variadic))
            known[k : k + 1] = elements
        names = arguments_of(wrt, self.f, known, self.order)
        return [elements[n] if n in elements else self._whole(n) for n in names]

    def _whole(self, name: str) -> tuple[Form | None, tuple[str, ...]]:
        nest = self.nests.get(name)
        return (None, (name,)) if nest is None else (nest.form, nest.names)

    def _elements(self) -> dict[str, tuple[Form | None, tuple[str, ...]]]:
        """Return the elements of ``*args``, under names that no argument has."""
        name = self.variadic if self.nests else None
        if name is None or name not in self.nests:
            return {}
        nest, found, first = self.nests[name], {}, 0
        for k, form in enumerate(nest.form.children()):
            names = nest.names[first : first + form.num_leaves]
            found[f"*{name}[{k}]"] = None if form.is_leaf() else form, names
            first += form.num_leaves
        return found

    def positional(self, count: int) -> list[str]:
        """Return the leaves of the first positional arguments of the call."""
        return [n for name in self.order[:count] for n in (self.nests[name].names if name in self.nests else (name,))]

    def gradients(self, count: int, values: Mapping[str, Any]) -> tuple:
        """Return what belongs to the first arguments of the call, one for each; nests like them."""
        found: list[Any] = []
        for name in self.order[:count]:
            found += self.nest(name, values) if name == self.variadic else [self.nest(name, values)]
        return tuple(found)

    def matching(self, given: Sequence[Any]) -> dict[str, Any]:
        """Return values for positional arguments, or nests like these, by leaves; None for what has none.

        :raises ArgumentError: a nest is not like its argument.
        """
        values = list(given)
        if self.variadic is not None:
            k = self.order.index(self.variadic)
            values[k:] = [tuple(values[k:])]
        found: dict[str, Any] = {}
        for name, value in zip(self.order, values, strict=False):
            if name not in self.nests or value is None:
                found |= dict.fromkeys(self.nests[name].names) if name in self.nests else {name: value}
                continue
            try:
                own = dict(zip(self.nests[name].names, matched(self.nests[name].form, value), strict=True))
            except (ValueError, TypeError) as error:
                raise ArgumentError(f"what is given for '{name}' is no nest like it: {error}") from None
            found |= self._without_places(name, own)
        return found

    def _without_places(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is given for the leaves of a nest without the places of sparse matrices.

        :raises ArgumentError: these are others than those of the argument.
        """
        places = self.nests[name].places
        for leaf in places:
            if values[leaf] is not None and not same_places(values[leaf], self.arguments[leaf]):
                raise ArgumentError(
                    f"what is given for '{name}' has a sparse matrix with other places than the argument's: give one "
                    "with the same pattern, zeros among its data"
                )
        return {n: None if n in places else v for n, v in values.items()}

    def with_places(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what belongs to leaves, with the places of sparse matrices: those of the arguments."""
        places = {n: self.arguments[n] for nest in self.nests.values() for n in nest.places}
        return {**values, **places}

    def examples(self) -> dict[str, Any]:
        """Return arguments of NumPy's like these, where they are recorded."""
        return {n: example(v) for n, v in self.arguments.items()}

    @property
    def has_places(self) -> bool:
        """True if an argument has sparse matrices: gradients have the places of the call's."""
        return any(nest.places for nest in self.nests.values())

    @property
    def variadic(self) -> str | None:
        """Return the name of the ``*args`` of the function, if it has any."""
        function = self.f.function if isinstance(self.f, OfLeaves) else self.f
        kinds = signature_of(function).parameters.values()
        return next((p.name for p in kinds if p.kind is p.VAR_POSITIONAL), None)

    def builder(self, wrt: Wrt, leaves: Sequence[str]) -> Callable[[Sequence[Any]], Any]:
        """Return the function that puts what belongs to some leaves in the nests of their arguments."""
        kept = self.with_places({})
        places = {n: k for k, n in enumerate((*leaves, *kept))}
        missing, constant = len(places), tuple(kept.values())
        parts = [(form, [places.get(n, missing) for n in names]) for form, names in self.parts(wrt)]

        def one(given: Sequence[Any], form: Form | None, row: Sequence[int]) -> Any:
            return given[row[0]] if form is None else unflatten(form, [given[k] for k in row])

        if several(wrt):
            return lambda values: tuple(one((*values, *constant, None), *part) for part in parts)
        return lambda values: one((*values, *constant, None), *parts[0])

    def nested(self, wrt: Wrt, values: Mapping[str, Any]) -> Any:
        """Return what belongs to leaves in the nests of their arguments; None where there is nothing."""
        return self.builder(wrt, tuple(values))(tuple(values.values()))

    def nest(self, name: str, values: Mapping[str, Any]) -> Any:
        """Return what belongs to the leaves of one argument."""
        if name not in self.nests:
            return values.get(name)
        values = self.with_places(values)
        return unflatten(self.nests[name].form, [values.get(n) for n in self.nests[name].names])
