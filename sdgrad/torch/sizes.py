"""Handle sizes that change from call to call: which ones, and their symbols in one program for all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree
from torch.utils._sympy import functions as f

from sdgrad.errors import ArgumentError
from sdgrad.record.elements import Dim, dim, divided
from sdgrad.symbolic.expr import free_names, substitute, sym
from sdgrad.torch.call import Call
from sdgrad.torch.graph import Unsupported

Sizes: TypeAlias = "tuple[tuple[str, int], ...]"
"""The symbols of one call, with their values."""
LEAST = 2
"""PyTorch takes sizes of zero and one for what they are: such calls have programs of their own."""
MANY = 4096  # sizes, and shapes for them, that are remembered
Spec = Any
"""What ``torch.export`` takes: by argument, in its structure, ``{dimension: Dim}`` or a sequence, or None."""


# -- what the user says
def open_dimensions(spec: Spec, forward: Callable, call: Call) -> list[dict[int, Any]]:
    """Return for each tensor argument its open dimensions, and their description for ``torch.export``.

    :param spec: by parameter of ``forward``, or in order.
    :raises ArgumentError: it does not fit the arguments.
    """
    args, kwargs = pytree.tree_unflatten(list(call.leaves), call.structure)
    by_name = _by_name(spec, forward)
    found: list[dict[int, Any]] = []
    for name, value in (*_named(forward, args).items(), *kwargs.items()):
        _collect(by_name.pop(name, None), value, name, found)
    kinds = inspect.signature(forward).parameters.values()
    others = any(p.kind == p.VAR_KEYWORD for p in kinds)  # an argument that is left out has no sizes
    if unknown := [n for n in by_name if n not in {p.name for p in kinds} and not others]:
        raise ArgumentError(f"dynamic_shapes: there is no argument {', '.join(map(repr, unknown))}")
    return found


def _named(forward: Callable, args: Sequence[Any]) -> dict[str, Any]:
    """Return positional arguments by name; ``*args`` is one, a tuple."""
    kinds = [p for p in inspect.signature(forward).parameters.values() if p.kind != p.KEYWORD_ONLY]
    named: dict[str, Any] = {}
    remaining = list(args)
    for p in kinds:
        if p.kind == p.VAR_POSITIONAL:
            named[p.name], remaining = tuple(remaining), []
        elif p.kind != p.VAR_KEYWORD and remaining:
            named[p.name] = remaining.pop(0)
    return named


def _by_name(spec: Spec, forward: Callable) -> dict[str, Any]:
    """Return the description of the dimensions by argument."""
    if isinstance(spec, Mapping):
        return dict(spec)
    if isinstance(spec, (tuple, list)):
        named = _named(forward, spec)
        if len(named) < len(spec) and not any(isinstance(x, tuple) and x == tuple(spec) for x in named.values()):
            raise ArgumentError(
                f"dynamic_shapes: the module takes {len(named)} arguments, and {len(spec)} are described"
            )
        return named
    raise ArgumentError(f"dynamic_shapes: expected a dict by argument, or a tuple in their order, found {spec!r}")


def _collect(spec: Spec, value: Any, where: str, found: list[dict[int, Any]]) -> None:
    """Append the open dimensions of one argument, tensor by tensor."""
    if isinstance(value, torch.Tensor):
        found.append(_open_dimensions(spec, value, where))
        return
    inner, _ = pytree.tree_flatten(value, is_leaf=lambda x: x is not value)
    if inner and inner[0] is value or not inner:  # a leaf that is no tensor
        return
    for part, x in zip(_parts(spec, value, inner, where), inner, strict=True):
        _collect(part, x, where, found)


def _open_dimensions(spec: Spec, tensor: torch.Tensor, where: str) -> dict[int, Any]:
    """Return the open dimensions of a tensor, as ``torch.export`` has them."""
    pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec or ())
    given = {k: _as_export(d) for k, d in pairs if d is not None and type(d) is not int}
    if wrong := [k for k in given if not isinstance(k, int) or not -tensor.ndim <= k < tensor.ndim]:
        raise ArgumentError(f"dynamic_shapes: '{where}' has {tensor.ndim} dimensions, and no dimension {wrong[0]!r}")
    return {k % tensor.ndim: d for k, d in given.items()}


def _parts(spec: Spec, value: Any, inner: Sequence[Any], where: str) -> list[Spec]:
    """Return the descriptions of the parts of a nested argument, one for each."""
    if isinstance(value, Mapping):
        parts = [(spec or {}).get(k) for k in value]
    else:
        parts = list(spec) if spec is not None else [None] * len(inner)
    if len(parts) != len(inner):
        raise ArgumentError(f"dynamic_shapes: '{where}' has {len(inner)} parts, and {len(parts)} are described")
    return parts


def _as_export(what: Any) -> Any:
    """Return a dimension for ``torch.export``; a name is a dimension of that name."""
    return _named_dim(what) if isinstance(what, str) else what


@cache
def _named_dim(name: str) -> Any:
    return torch.export.Dim(name)


# -- what PyTorch traced
PLAIN = {
    f.FloorDiv: divided,
    f.CleanDiv: divided,
    f.PythonMod: lambda a, b: a - b * divided(a, b),
    f.Mod: lambda a, b: a - b * divided(a, b),
    f.Max: sympy.Max,
    f.Min: sympy.Min,
    f.Identity: lambda a: a,
}


def size_of(value: Any) -> Dim:
    """Return a size that PyTorch traced, as the engine has sizes.

    :raises Unsupported: it depends on data, or is made by a function that there are no integers for.
    """
    if not isinstance(value, torch.SymInt):
        return value
    if free_unbacked_symbols(value):
        raise Unsupported("a size that depends on data")
    return dim(_translated(value.node.expr))


def _translated(expr: sympy.Basic) -> sympy.Expr:
    """Return PyTorch's expression for a size over the engine's symbols."""
    if isinstance(expr, sympy.Symbol):
        return sym(_name(expr))
    if not expr.args:
        return expr
    parts = [_translated(a) for a in expr.args]
    if type(expr) in PLAIN:
        return sympy.sympify(PLAIN[type(expr)](*parts))
    if isinstance(expr, (sympy.Add, sympy.Mul, sympy.Pow)):
        return expr.func(*parts)
    raise Unsupported(f"a size that is {expr}")


def _name(symbol: sympy.Basic) -> str:
    """Return the engine's name for one of PyTorch's symbols."""
    return f"size_{symbol}"


def shape_of(shape: Sequence[Any]) -> tuple[Dim, ...]:
    """Return a shape that PyTorch traced, as the engine has shapes."""
    return tuple(map(size_of, shape))


@dataclass(frozen=True)
class Open:
    """Hold the symbols of a captured module.

    :param places: for each symbol, where it is read: input and dimension.
    :param shapes: what the inputs' shapes are then.
    :param conditions: what PyTorch took for granted of PyTorch's own symbols when it traced the module: the outcomes of
        branches on sizes, and the ranges of sizes.
    """

    places: Mapping[str, tuple[int, int]]
    shapes: tuple[tuple[Dim, ...], ...]
    conditions: tuple[sympy.Basic, ...]

    @staticmethod
    def of(program: torch.export.ExportedProgram, inputs: Sequence[torch.Tensor]) -> Open:
        """
        :param inputs: as they were traced.
        """
        shapes = tuple(shape_of(x.shape) for x in inputs)
        places: dict[str, tuple[int, int]] = {}
        for k, shape in enumerate(shapes):
            for d, n in enumerate(shape):
                if isinstance(n, sympy.Symbol):
                    places.setdefault(n.name, (k, d))
        conditions: dict[sympy.Basic, None] = {}
        for symbol, limits in program.range_constraints.items():
            conditions |= dict.fromkeys((sympy.Ge(symbol, limits.lower), sympy.Le(symbol, limits.upper)))
        for environment in {id(e): e for x in inputs if (e := _environment(x)) is not None}.values():
            conditions |= dict.fromkeys(environment.replace(guard.expr) for guard in environment.guards)
        return Open(places, shapes, tuple(c for c in conditions if c is not sympy.true))

    def sizes(self, inputs: Sequence[torch.Tensor]) -> Sizes | None:
        """Return the values of the symbols in a call; None for sizes that the module was not captured for."""
        found = tuple((s, inputs[k].shape[d]) for s, (k, d) in self.places.items())
        fits = all(evaluated(s, found) == tuple(x.shape) for s, x in zip(self.shapes, inputs, strict=True))
        return found if fits and holds(self.conditions, found) else None


def _environment(x: torch.Tensor) -> Any:
    """What PyTorch knows of the symbols in a traced tensor's shape."""
    mode = getattr(x, "fake_mode", None)
    return None if mode is None else mode.shape_env


@lru_cache(MANY)
def holds(conditions: tuple[sympy.Basic, ...], sizes: Sizes) -> bool:
    """True if conditions on PyTorch's symbols are met in one call; all others are taken not to be."""
    known = dict(sizes)
    for condition in conditions:
        symbols = condition.free_symbols
        values = {s: sympy.Integer(known[_name(s)]) for s in symbols if _name(s) in known}
        if condition.xreplace(values) is not sympy.true:
            return False
    return True


NONE = Open({}, (), ())
"""Of a module whose sizes are those of its first call."""


@lru_cache(MANY)
def evaluated(shape: tuple[Dim, ...], sizes: Sizes) -> tuple[int, ...]:
    """Return a shape in one call."""
    return tuple(n if isinstance(n, int) else value(n, sizes) for n in shape)


def value(size: Dim, sizes: Sizes) -> int:
    """Return a size in one call."""
    known = {n: sympy.Integer(v) for n, v in sizes}
    found = substitute(sympy.sympify(size), known)
    if left := free_names(found):
        raise ArgumentError(f"the size {size} depends on {', '.join(sorted(left))}, which no argument tells")
    return int(found)
