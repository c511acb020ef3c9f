"""Flatten nests of arguments and results: lists, tuples, dicts, named tuples, dataclasses, registered classes.

``optree`` knows the containers; dataclasses join them when they are first met. None is a nest without leaves.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
import optree

from sdgrad.convert.callables import hashable, name_of, python_function
from sdgrad.program.names import Names
from sdgrad.record.sparse import nesting
from sdgrad.record.unusable import Unusable

NAMESPACE = "sdgrad"
IN_ORDER = "sdgrad, dicts in their order"  # of arguments: a function may depend on the order of a dict's keys
nesting.register(NAMESPACE, IN_ORDER)
_kept_in_order = optree.dict_insertion_ordered(True, namespace=IN_ORDER)
_kept_in_order.__enter__()  # for good
Form = optree.PyTreeSpec
CONSTANT = (str, type(None), FunctionType, BuiltinFunctionType, np.ufunc, type)
NO_FIELD = "is no field, so that no derivative passes through it: make it a property, which is computed, or a field"


def flatten(value: Any, namespace: str = NAMESPACE) -> tuple[list[Any], Form]:
    """Return the leaves of a nest, and its form.

    :param namespace: ``IN_ORDER`` for arguments, whose forms differ if the keys of a dict come in another order.
    """
    leaves, form = optree.tree_flatten(value, namespace=namespace)
    unknown = {type(x) for x in leaves if _is_new(x)}
    if not unknown:
        return leaves, form
    for kind in unknown:
        _register(kind)
    return flatten(value, namespace)


def returned(value: Any) -> tuple[list[Any], Form]:
    """Return the leaves of a nest of results, and the form in which a call returns them."""
    return flatten(nesting.returned(value, NAMESPACE))


def compared(value: Any) -> list[Any]:
    """Return the leaves of a nest for comparisons: of sparse matrices what does not depend on how they are stored."""
    found = flatten(value)[0]
    is_sparse = holds_places(value) or any(map(nesting.issparse, found))
    return nesting.probed(value, NAMESPACE) if is_sparse else found


def unflatten(form: Form, leaves: Sequence[Any]) -> Any:
    """Return the nest of a form with these leaves."""
    return optree.tree_unflatten(form, leaves)


def cotangents_of(value: Any) -> list[Any]:
    """Return the leaves of a nest of cotangents, None among them."""
    return optree.tree_leaves(value, none_is_leaf=True, namespace=NAMESPACE)


def matched(form: Form, value: Any) -> list[Any]:
    """Return what a nest like another one has where that has leaves, None among it.

    :raises ValueError: it has another form.
    """
    return form.flatten_up_to(value)


def places_of(form: Form | None) -> list[bool]:
    """Return for each leaf whether it holds places of a sparse matrix."""
    return [] if form is None else [nesting.is_place(p) for p in form.paths()]


def holds_places(value: Any) -> bool:
    """True if a nest has sparse matrices."""
    return is_nest(value) and any(places_of(flatten(value)[1]))


def is_nest(value: Any) -> bool:
    """True of containers whose parts are arguments of their own."""
    if value is None or isinstance(value, (str, int, float, complex)) or type(value).__module__ == "numpy":
        return False
    return _is_new(value) or not optree.tree_is_leaf(value, namespace=NAMESPACE)


def _is_new(value: Any) -> bool:
    """True of a dataclass that is not yet known as a nest."""
    if isinstance(value, type) or not hasattr(type(value), "__dataclass_fields__"):
        return False
    foreign = type(value).__module__.partition(".")[0] in ("sdgrad", "dace", "jax", "torch")
    return not foreign and optree.tree_is_leaf(value, namespace=NAMESPACE)


def _register(kind: type) -> None:
    names = tuple(f.name for f in dataclasses.fields(kind))

    def parts(value: Any) -> tuple[tuple, tuple, tuple[str, ...]]:
        held = tuple(n for n in names if hasattr(value, n))
        others = {n: v for n, v in getattr(value, "__dict__", {}).items() if n not in names}
        constant = tuple((n, v) for n, v in others.items() if isinstance(v, CONSTANT))
        lost = tuple(n for n, v in others.items() if not isinstance(v, CONSTANT) and not _keeps_result(kind, n))
        return tuple(getattr(value, n) for n in held), (held, constant, lost), held

    def made(form: tuple, values: Sequence[Any]) -> Any:
        found: Any = object.__new__(kind)  # its own checks are for values, not for what stands for them
        held, constant, lost = form
        unusable = ((n, Unusable(f"'{n}' of a {kind.__name__} {NO_FIELD}")) for n in lost)
        for name, value in (*zip(held, values, strict=True), *constant, *unusable):
            object.__setattr__(found, name, value)
        return found

    for namespace in (NAMESPACE, IN_ORDER):
        optree.register_pytree_node(kind, parts, made, namespace=namespace)  # type: ignore[arg-type]


def _keeps_result(kind: type, name: str) -> bool:
    """True of a property that keeps what it has computed: it computes that again."""
    return isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)


def made_again(nest: Any, note: Callable[[Any], Any]) -> None:
    """Note the objects in a nest of arguments: they stand for those of the caller, and no one else has them."""

    def is_leaf(value: Any) -> bool:
        if hasattr(type(value), "__dataclass_fields__"):
            note(value)
        return False

    optree.tree_leaves(nest, is_leaf=is_leaf, namespace=NAMESPACE)


@dataclass(frozen=True)
class Nest:
    """Hold the form of an argument, and the names of its leaves.

    :param places: those of them that are places of sparse matrices.
    """

    form: Form
    names: tuple[str, ...]
    places: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OfLeaves:
    """A function of the leaves of another one's arguments.

    :param order: the arguments of the function.
    :param nests: those of them that are nests.
    """

    function: Callable
    order: tuple[str, ...]
    nests: tuple[tuple[str, Nest], ...]

    @property
    def __name__(self) -> str:
        return name_of(self.function)

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind) for n in self.leaves])

    @property
    def leaves(self) -> list[str]:
        nests = dict(self.nests)
        return [leaf for n in self.order for leaf in (nests[n].names if n in nests else (n,))]

    def identity(self) -> Hashable:
        return ("leaves", identity(self.function), self.nests)

    def whole(self, leaves: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Return the arguments of the function, as a call takes them."""
        return positional(self.function, restored(leaves, self.order, dict(self.nests)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the nests that leaves belong to."""
        given, named = self.whole(inspect.signature(self).bind(*args, **kwargs).arguments)
        return self.function(*given, **named)


def identity(f: Any) -> Hashable:
    """Return a value that is equal for equal functions: plain ones, derivatives, and functions of leaves."""
    return f.identity() if isinstance(f, OfLeaves) or hasattr(f, "derive") else hashable(f)


def restored(leaves: Mapping[str, Any], order: Sequence[str], nests: Mapping[str, Nest]) -> dict[str, Any]:
    """Return arguments by name, nests put together from their leaves."""
    return {
        n: unflatten(nests[n].form, [leaves[leaf] for leaf in nests[n].names]) if n in nests else leaves[n]
        for n in order
    }


def positional(f: Callable, given: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return arguments by name as a call takes them."""
    function = python_function(f)
    signature = inspect.signature(function)
    bound = signature.bind_partial()
    if not isinstance(function, FunctionType):  # of NumPy's, whose defaults say that nothing was given
        given = {n: v for n, v in given.items() if v is not signature.parameters[n].default}
    bound.arguments.update(given)
    return bound.args, dict(bound.kwargs)


def by_leaves(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Nest]]:
    """Return the leaves of arguments by names of their own, and the arguments that are nests."""
    if not any(map(is_nest, arguments.values())):
        return dict(arguments), {}
    names, leaves, nests = Names(arguments), {}, {}
    for name, value in arguments.items():
        if not is_nest(value):
            leaves[name] = value
            continue
        parts, form = flatten(value, IN_ORDER)
        paths = form.paths()
        own = tuple(names.fresh(f"{name}_{_spelled(p)}") for p in paths)
        nests[name] = Nest(form, own, frozenset(n for n, p in zip(own, paths, strict=True) if nesting.is_place(p)))
        leaves |= zip(own, parts, strict=True)
    return leaves, nests


def _spelled(path: Sequence[Any]) -> str:
    """Return the way to a leaf as a part of a name."""
    return "_".join("".join(c if c.isalnum() else "_" for c in str(p)) for p in path)
