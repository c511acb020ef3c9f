"""Remember calls that are prepared: by the kinds of what is given, and what else their programs depend on.

A call is looked up by the form of its arguments and the types and shapes of their leaves. It is prepared in terms of
positions among the leaves, so that neither names are bound nor nests are taken apart again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from optree import tree_flatten

from sdgrad.convert.callables import python_function
from sdgrad.record.nests import NAMESPACE, flatten, unflatten
from sdgrad.record.reads import Read, is_numeric
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.fast_call import Direct, Kinds, kinds_of
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.signature import Derived, Guard, Signature, fixed_arguments, is_for_some_sizes

MOST = 8  # prepared calls for one kind of arguments
MISSING = object()


@dataclass(frozen=True)
class Watch:
    """What a program depends on besides the kinds of its arguments.

    :param items: names in dicts, with what they were bound to: compared by identity first.
    :param fixed: positions of leaves whose values matter, and these.
    """

    items: tuple[tuple[Mapping, Any, Any, Guard], ...]
    others: tuple[Guard, ...]
    fixed: tuple[tuple[int, Any], ...] = ()

    @staticmethod
    def of(guards: Sequence[Guard]) -> Watch:
        """Return what guards ask for."""
        items = [g for g in guards if isinstance(g, Read) and g.how == "item" and isinstance(g.owner, dict)]
        others = [g for g in guards if not any(g is i for i in items)]
        return Watch(tuple((i.owner, i.key, i.value, i) for i in items), tuple(others))

    def holds(self, leaves: Sequence[Any]) -> bool:
        """True if the program is the right one for a call."""
        for owner, key, value, guard in self.items:
            if owner.get(key) is not value and not guard.holds():
                return False
        for position, value in self.fixed:
            if leaves[position] != value:
                return False
        return all(guard.holds() for guard in self.others)


@dataclass(frozen=True)
class Prepared:
    """One prepared call.

    :param order: the positions of the program's arguments among the leaves; None if they are these.
    :param defaults: arguments that the call leaves out, behind the leaves.
    :param build: makes the results of the call from those of the program.
    """

    direct: Direct
    watch: Watch
    build: Callable[[list[Any]], Any]
    order: tuple[int, ...] | None = None
    defaults: tuple[Any, ...] = ()

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program; :data:`MISSING` if the call is another one after all."""
        if not self.watch.holds(leaves):
            return MISSING
        if self.order is not None:
            given = (*leaves, *self.defaults)
            leaves = [given[k] for k in self.order]
        found = self.direct(leaves)
        return MISSING if found is None else self.build(found)


@dataclass(frozen=True)
class Position:
    """Stand for a leaf of a call, by its position."""

    index: int


@dataclass
class PreparedCalls:
    """The prepared calls of one function."""

    known: dict[Kinds, list[Prepared]] = field(default_factory=dict)

    def __call__(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a prepared call; :data:`MISSING` if there is none."""
        if self.known:
            leaves, kinds = _kinds(args, kwargs)
            for prepared in self.known.get(kinds, ()) if kinds is not None else ():
                if (found := prepared(leaves)) is not MISSING:
                    return found
        return MISSING

    def remember(self, kinds: Kinds, prepared: Prepared) -> None:
        """Keep a prepared call for later ones like it."""
        row = self.known.setdefault(kinds, [])
        row.insert(0, prepared)
        del row[MOST:]

    def prepare(
        self,
        f: Callable,
        signature: Signature,
        program: CompiledProgram,
        args: tuple,
        kwargs: Mapping[str, Any],
        ones: Sequence[str],
        results: Mapping[str, tuple[int, ...]],
        build: Callable[[list[Any]], Any],
    ) -> None:
        """Prepare calls like one whose arguments are no nests.

        :param ones: arguments of the program that are seeds.
        :param results: arguments of the program that are results, with their shapes.
        """
        passed, kinds = _kinds(args, kwargs)
        if isinstance(f, Derived) or kinds is None or is_for_some_sizes(f):
            return
        order, defaults = _arranged(f, args, kwargs)
        leaves = (*passed, *defaults)
        if any(isinstance(v, np.ndarray) and not is_numeric(v) for v in leaves):  # their content decides
            return
        closure = {n: v.again if isinstance(v, Read) else v for n, v in signature.closure.items()}
        given = [leaves[k] for k in order.values()]
        direct = Direct.of(program, list(order), given, ones, results, closure)
        if direct is None:
            return
        fixed = fixed_arguments(f, dict(zip(order, given, strict=True)))
        guards = [*signature.guards, *_of_defaults(f, defaults)]
        values = {order[n]: v for n, v in fixed.items() if not isinstance(v, (bool, str))}
        watch = replace(Watch.of(guards), fixed=tuple((k, v) for k, v in values.items() if k < len(passed)))
        plain = not defaults and list(order.values()) == list(range(len(leaves)))
        self.remember(kinds, Prepared(direct, watch, build, None if plain else tuple(order.values()), defaults))

    def nest(
        self, f: Callable, args: tuple, kwargs: Mapping[str, Any], inner: PreparedCalls, call: Call, build: Callable
    ) -> None:
        """Prepare calls like one with nests, by the prepared call of the function of their leaves.

        :param build: makes the results from those of that function.
        """
        of_leaves = tuple(call.arguments.values())
        inner_kinds, (passed, kinds) = _kinds(of_leaves, {})[1], _kinds(args, kwargs)
        if inner_kinds is None or kinds is None or not inner.known.get(inner_kinds):
            return
        own = inner.known[inner_kinds][0]
        order, defaults = _arranged(f, args, kwargs)
        positions = [p for p, v in zip(order.values(), of_leaves, strict=True) if v is not None]  # None is no leaf
        positions += range(len(passed) + len(defaults), len(passed) + len(defaults) + len(own.defaults))
        places = range(len(positions)) if own.order is None else own.order
        fixed = tuple((positions[k], v) for k, v in own.watch.fixed)
        watch = replace(own.watch, fixed=fixed, others=(*own.watch.others, *_of_defaults(f, defaults)))
        whole = tuple(positions[k] for k in places)
        behind = (*defaults, *own.defaults)
        made = Prepared(own.direct, watch, lambda results: build(own.build(results)), whole, behind)
        self.remember(kinds, made)


def _kinds(args: tuple, kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Kinds | None]:
    """Return the leaves of a call, and their form, types and shapes; None if the call has to go the general way."""
    if not kwargs:
        kinds = kinds_of(args)
        if kinds is not None:
            return args, kinds
    whole: Any = (args, kwargs)
    leaves, form = tree_flatten(whole, namespace=NAMESPACE)  # a dataclass that is new goes the general way
    kinds = kinds_of(leaves)
    return leaves, None if kinds is None else (form, *kinds)


def _arranged(f: Callable, args: tuple, kwargs: Mapping[str, Any]) -> tuple[dict[str, int], tuple[Any, ...]]:
    """Return the position of each argument, or leaf of one, among the leaves of a call and the defaults behind them."""
    leaves, form = flatten((args, dict(kwargs)))
    given, named = unflatten(form, [Position(k) for k in range(len(leaves))])
    order: dict[str, int] = {}
    defaults: list[Any] = []
    for name, value in Call.of(f, given, named).arguments.items():
        if not isinstance(value, Position):
            defaults.append(value)
        order[name] = value.index if isinstance(value, Position) else len(leaves) + len(defaults) - 1
    return order, tuple(defaults)


def _of_defaults(f: Callable, defaults: Sequence[Any]) -> list[Guard]:
    """Return what has to hold for the arguments that calls leave out to be the same."""
    function = python_function(f)
    names = ("__defaults__", "__kwdefaults__") if defaults else ()
    return [Read(function, n, "attribute", getattr(function, n)) for n in names if hasattr(function, n)]
