"""Remember calls that are prepared: by the kinds of what is given, and what else their programs depend on.

A call is looked up by the form of its arguments, and compared with the types and shapes of their leaves. It is prepared
in terms of positions among the leaves, so that neither names are bound nor nests are taken apart again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np
from optree import tree_flatten, tree_is_leaf

from sdgrad.config import config
from sdgrad.convert.callables import python_function, signature_of
from sdgrad.record.index_limits import IndexLimit
from sdgrad.record.nests import IN_ORDER, flatten, is_nest, unflatten
from sdgrad.record.reads import Read, equal_parts, is_numeric
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.fast_call import NUMBERS, Direct, Recipe, is_data
from sdgrad.runtime.call.native_call import Form
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.protocols import Derived, Guard, is_derived, is_open, is_specialized
from sdgrad.specialize.signature import Signature, fixed_arguments, sizes_that_decide

MOST = 32  # prepared calls for one form of arguments
MISSING = object()


@dataclass(frozen=True)
class Watch:
    """What a program depends on besides its arguments.

    :param items: names in dicts, with what they were bound to: compared by identity first.
    :param codes: functions, with their code.
    """

    items: tuple[tuple[Mapping, Any, Any, Guard], ...]
    codes: tuple[Read, ...]
    others: tuple[Guard, ...]

    @staticmethod
    def of(guards: Sequence[Guard]) -> Watch:
        """Return what guards ask for."""
        reads = [g for g in guards if isinstance(g, Read) and g.content is None]
        items = [g for g in reads if g.how == "item" and isinstance(g.owner, dict)]
        codes = [g for g in reads if g.key == "__code__" and isinstance(g.value, CodeType)]
        looked_up = {id(g) for g in (*items, *codes)}
        others = [g for g in guards if id(g) not in looked_up]
        return Watch(tuple((i.owner, i.key, i.value, i) for i in items), tuple(codes), tuple(others))

    @property
    def guards(self) -> list[Guard]:
        """Return what it asks for."""
        return [*(guard for *_, guard in self.items), *self.codes, *self.others]

    def holds(self) -> bool:
        """True if the program is the right one."""
        for owner, key, value, guard in self.items:
            if owner.get(key) is not value and not guard.holds():
                return False
        for read in self.codes:
            if read.owner.__code__ is not read.value:
                return False
        return all(guard.holds() for guard in self.others) if self.others else True


@dataclass(frozen=True)
class Depends:
    """What a program is for, but for types and shapes.

    :param fixed: arguments whose values matter.
    :param guards: what was read outside of the function.
    :param limits: what index arrays may hold.
    """

    fixed: frozenset[str]
    guards: tuple[Guard, ...]
    limits: tuple[IndexLimit, ...]


@dataclass(frozen=True)
class Prepared:
    """One prepared call.

    :param recipe: what the program takes.
    :param build: makes the results of the call from those of the program.
    :param limits: what index arrays may hold, with their positions among the leaves, or what reads them.
    """

    direct: Direct
    watch: Watch
    recipe: Recipe
    depends: Depends
    build: Callable[[list[Any]], Any]
    limits: tuple[tuple[Any, IndexLimit], ...] = ()

    def __call__(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Run the program; :data:`MISSING` if the call is another one after all."""
        if not self.watch.holds():
            return MISSING
        if self.limits and config.check_indices:
            leaves = _flat(args, kwargs)[0]
            try:
                for place, limit in self.limits:
                    limit.check(leaves[place] if isinstance(place, int) else place())
            except (IndexError, ValueError):  # of another kind, perhaps: the general way tells
                return MISSING
        found = self.direct(args, kwargs)
        return MISSING if found is None else self.build(found)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A nest that calls leave out, a default or an argument of a partial, with the leaves that it held."""

    nest: Any
    leaves: tuple
    form: Hashable

    @staticmethod
    def of(nest: Any) -> LeftOut:
        """Return a nest with what it holds now."""
        leaves, form = flatten(nest, IN_ORDER)
        return LeftOut(nest, tuple(leaves), form)

    def holds(self) -> bool:
        """True if it holds the same."""
        leaves, form = tree_flatten(self.nest, namespace=IN_ORDER)
        return form == self.form and equal_parts(tuple(leaves), self.leaves)


@dataclass(frozen=True)
class Position:
    """Stand for a leaf of a call, by its position."""

    index: int


@dataclass
class PreparedCalls:
    """The prepared calls of one function.

    :param known: by the numbers of arguments, or by the form of their nests, where these hold containers that C++ does
        not know.
    """

    known: dict[Hashable, list[Prepared]] = field(default_factory=dict)
    has_forms: bool = False

    def __reduce__(self) -> tuple:
        """Pickle none of them: they hold addresses of this process, and another one prepares its own."""
        return PreparedCalls, ()

    def __call__(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Run a call that was prepared; :data:`MISSING` if none is like it."""
        found = self._found(args, kwargs)
        if found is MISSING and self.known and any(map(_is_apart, (*args, *kwargs.values()))):
            return self._found(*_contiguous(args, kwargs))
        return found

    def _found(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        for prepared in self.known.get((len(args), len(kwargs)), ()):
            if (found := prepared(args, kwargs)) is not MISSING:
                return found
        if self.has_forms:
            leaves, form = _flat(args, kwargs)
            for prepared in self.known.get(form, ()):
                if (found := prepared(leaves, {})) is not MISSING:
                    return found
        return MISSING

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
        if not _is_plain(f) or signature.has_effects:
            return
        order, defaults = _arranged(f, args, kwargs)
        depends = _depends(f, signature, order, (*_flat(args, kwargs)[0], *defaults))
        recipe = Recipe(program, ones, results, _closure(signature))
        self._remember(f, args, kwargs, (order, defaults), recipe, depends, build)

    def push(
        self,
        f: Callable,
        signature: Signature,
        program: CompiledProgram,
        primals: tuple,
        tangents: tuple,
        named: Mapping[str, str],
        results: Mapping[str, tuple[int, ...]],
        build: Callable[[list[Any]], Any],
    ) -> None:
        """Prepare calls like one with two tuples: arguments that are no nests, and a tangent of each.

        :param named: arguments of the program that are tangents, by what they are tangents of.
        :param results: arguments of the program that are results, with their shapes.
        """
        count = len(primals)
        fits = all(isinstance(t, np.ndarray) for t in tangents)  # those of numbers are arrays in a program
        if not fits or signature.has_effects or not _is_plain(f) or len(_flat(primals, {})[0]) != count:
            return
        order, defaults = _arranged(f, primals, {})
        depends = _depends(f, signature, order, (*primals, *defaults))
        behind = {n: k if k < count else k + count for n, k in order.items()}
        places = {**behind, **{tangent: count + order[n] for n, tangent in named.items()}}
        recipe = Recipe(program, (), results, _closure(signature))
        self._remember(f, (primals, tangents), {}, (places, defaults), recipe, depends, build)

    def nest(
        self, f: Callable, args: tuple, kwargs: Mapping[str, Any], inner: PreparedCalls, call: Call, build: Callable
    ) -> None:
        """Prepare calls like one with nests, by the prepared call of the function of their leaves.

        :param build: makes the results from those of that function.
        """
        own = inner.like(tuple(call.arguments.values()))
        if own is None:
            return
        arranged = _arranged(f, args, kwargs)
        self._remember(f, args, kwargs, arranged, own.recipe, own.depends, lambda found: build(own.build(found)))

    def like(self, args: tuple) -> Prepared | None:
        """Return the prepared call that a call without keywords would be; None if there is none."""
        found = next((p for p in self.known.get((len(args), 0), ()) if p.direct.fits(args, {})), None)
        if found is None and self.has_forms:
            leaves, form = _flat(args, {})
            found = next((p for p in self.known.get(form, ()) if p.direct.fits(leaves, {})), None)
        return found

    def _remember(
        self,
        f: Callable,
        args: tuple,
        kwargs: Mapping[str, Any],
        arranged: tuple[Mapping[str, int], tuple[Any, ...]],
        recipe: Recipe,
        depends: Depends,
        build: Callable[[list[Any]], Any],
    ) -> None:
        """Prepare calls like one for later ones, if its leaves are arrays, numbers, texts and other objects.

        :param arranged: the position of each argument among the leaves and the defaults behind them, and these.
        """
        args, kwargs = _contiguous(args, kwargs)
        leaves, nest = _flat(args, kwargs)
        order, defaults = arranged
        if not all(map(_is_simple, leaves)) or any(map(_decides, (*leaves, *defaults))):
            return
        form = Form.of(args, kwargs, _is_leaf)
        own = form if form is not None else Form.of(leaves, {}, _is_leaf)
        assert own is not None  # leaves are no nests
        where = frozenset(order[n] for n in depends.fixed if n in order)
        if any(isinstance((*leaves, *defaults)[k], np.ndarray) for k in where):
            return  # whose content decides: it is looked at by each call
        direct = recipe.prepared(own, order, leaves, defaults, where)
        if direct is None:
            return
        watch = Watch.of([*depends.guards, *_of_defaults(f, defaults)])
        limits = tuple((_place(limit.name, order, leaves, defaults, recipe), limit) for limit in depends.limits)
        row = self.known.setdefault(nest if form is None else (len(args), len(kwargs)), [])
        row.insert(0, Prepared(direct, watch, recipe, depends, build, limits))
        del row[MOST:]
        self.has_forms |= form is None


def _is_plain(f: Callable | Derived) -> bool:
    """True if no more than what guards hold, and the kinds of arguments, decides about the programs of a function."""
    while is_derived(f):
        if is_specialized(f) or is_open(f):
            return False
        f = f.f
    return True


def _closure(signature: Signature) -> dict[str, Any]:
    return {n: v.again if isinstance(v, Read) else v for n, v in signature.closure.items()}


def _depends(f: Callable, signature: Signature, order: Mapping[str, int], given: Sequence[Any]) -> Depends:
    """Return what a program is for, besides the types and shapes of its arguments."""
    fixed = frozenset(fixed_arguments(f, {n: given[k] for n, k in order.items()})) | sizes_that_decide(f)
    return Depends(fixed, tuple(signature.guards), signature.limits)


def _place(name: str, order: Mapping[str, int], leaves: tuple, defaults: tuple, recipe: Recipe) -> Any:
    """Return the position of an input among the leaves of a call, or what reads it."""
    if name not in order:
        found = recipe.closure[name]
        return found if callable(found) else lambda: found
    place = order[name]
    return place if place < len(leaves) else lambda: defaults[place - len(leaves)]


def _is_simple(value: Any) -> bool:
    """True if a prepared call can compare a leaf with what it was prepared for."""
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.ndim > 0
    return type(value) in NUMBERS or not is_data(value)


def _is_apart(value: Any) -> bool:
    """True of an array whose elements do not lie one after the other: programs take copies."""
    return type(value) is np.ndarray and value.ndim > 0 and not value.flags.c_contiguous


def _contiguous(args: tuple, kwargs: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a call, arrays as programs take them; a prepared call writes none of them."""
    found = [np.ascontiguousarray(v) if _is_apart(v) else v for v in (*args, *kwargs.values())]
    return tuple(found[: len(args)]), dict(zip(kwargs, found[len(args) :], strict=True))


def _decides(value: Any) -> bool:
    """True of an array whose content decides what is computed: of texts, or objects."""
    return isinstance(value, np.ndarray) and not is_numeric(value)


def _flat(args: tuple, kwargs: Mapping[str, Any]) -> tuple[tuple, Hashable]:
    """Return the leaves of a call and their form."""
    whole: Any = (args, dict(kwargs))
    leaves, form = tree_flatten(whole, namespace=IN_ORDER)  # a dataclass that is new goes the general way
    return tuple(leaves), form


def _is_leaf(value: Any) -> bool:
    return tree_is_leaf(value, namespace=IN_ORDER)


def _arranged(f: Callable, args: tuple, kwargs: Mapping[str, Any]) -> tuple[dict[str, int], tuple[Any, ...]]:
    """Return the position of each argument, or leaf of one, among the leaves of a call and the defaults behind them."""
    leaves, form = flatten((args, dict(kwargs)), IN_ORDER)
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
    given = (p.default for p in signature_of(f).parameters.values()) if defaults else ()
    bound = [Read(function, n, "attribute", getattr(function, n)) for n in names if hasattr(function, n)]
    return [*bound, *(LeftOut.of(v) for v in given if is_nest(v))]
