"""Compute sparse Jacobians and Hessians: pattern, colours, one compiled call for all of them, entries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.api.gradient import checked, grad
from sdgrad.convert.callables import name_of
from sdgrad.convert.keywords import own_keywords
from sdgrad.errors import NotScalarError
from sdgrad.record.shown import short
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.sparsity.colouring import colour_columns
from sdgrad.sparsity.pattern import dependencies
from sdgrad.specialize.argnums import Wrt, several
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.communicating import refuse_communication
from sdgrad.specialize.directions import Directions
from sdgrad.specialize.signature import Signature, identity


@dataclass(frozen=True)
class Plan:
    """Say how a sparse matrix is computed: its pattern, the colour of each column or row, and the mode."""

    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    colours: np.ndarray
    mode: str

    @property
    def passes(self) -> int:
        """Return the number of directions that one call goes through."""
        return int(self.colours.max(initial=-1)) + 1


@own_keywords
def sparse_jacobian(f: Callable, wrt: Wrt = 0, *, mode: str = "auto") -> SparseJacobian:
    """Return a function that computes the Jacobian of ``f`` as a ``scipy.sparse.csr_matrix``.

    Rows are the elements of the result, columns those of the argument, both in C order. The pattern is that of the
    program: which elements can depend on which, for the sizes and the integers of the call; entries in it may be zero.
    Columns (or rows) without a common entry share a direction, so that a stencil takes as many passes as it has points,
    or a few more, whatever its size.

    :param f: a NumPy-style function, a ``@dace.program``, or a derivative, that returns one array.
    :param wrt: as for :func:`~sdgrad.grad`; for several, the result is a tuple.
    :param mode: ``"forward"`` (directions are groups of columns), ``"reverse"`` (of rows), or ``"auto"``: fewer groups.
    :returns: a callable with ``f``'s arguments; ``.plan(*arguments)`` is how it computes them (:class:`Plan`).
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    return SparseJacobian(checked(f), wrt, mode)


@own_keywords
def sparse_hessian(f: Callable, wrt: int | str = 0) -> SparseJacobian:
    """Return a function that computes the Hessian of a scalar function as a ``scipy.sparse.csr_matrix``.

    It is the sparse Jacobian of the gradient, forward over reverse; see :func:`sparse_jacobian`.
    """
    if several(wrt):
        raise NotScalarError("sparse_hessian is by one argument; take sparse_jacobian(grad(f, a), b) for mixed blocks")
    return SparseJacobian(grad(checked(f), wrt), wrt, "forward")


@dataclass
class SparseJacobian:
    """``sparse_jacobian(f)``: pattern and colours once for each signature and its integers."""

    f: Callable
    wrt: Wrt
    mode: str

    def __post_init__(self) -> None:
        self.__name__ = f"sparse_jacobian_{name_of(self.f)}"
        self._plans: dict[Hashable, Plan] = {}

    @short
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = Call.of(self.f, args, kwargs)
        own = SparseJacobian(call.f, self.wrt, self.mode) if call.is_of_another else self
        return call.nested(self.wrt, {n: own.one(n, call.arguments) for n in call.leaves(self.wrt)})

    def plan(self, *args: Any, **kwargs: Any) -> Any:
        """Return how the Jacobian for such arguments is computed."""
        call = Call.of(self.f, args, kwargs)
        own = SparseJacobian(call.f, self.wrt, self.mode) if call.is_of_another else self
        return call.nested(self.wrt, {n: own.plan_of(n, call.arguments) for n in call.leaves(self.wrt)})

    def plan_of(self, name: str, arguments: Mapping[str, Any]) -> Plan:
        """Return the plan for a signature and its integers, made once."""
        signature = Signature.of(self.f, arguments)
        refuse_communication(signature)
        key = (identity(self.f), name, signature, *_integers(arguments), *_integers(signature.now()))
        if key not in self._plans:
            self._plans[key] = self.make_plan(name, signature, arguments)
        return self._plans[key]

    def make_plan(self, name: str, signature: Signature, arguments: Mapping[str, Any]) -> Plan:
        """Find the pattern, colour its columns or rows, and choose the mode."""
        if len(signature.outputs) != 1:
            raise NotScalarError(f"{name_of(self.f)} has {len(signature.outputs)} outputs, not one")
        source, output = np.shape(as_array(arguments[name])), signature.outputs[0]
        if name not in signature.program.containers:
            empty = np.zeros(0, int)
            size = int(np.prod(signature.result_shapes()[0]))
            return Plan(empty, empty, (size, int(np.prod(source))), empty, "forward")
        pattern = dependencies(signature.program, name, output, signature.arguments(arguments))
        pattern.sum_duplicates()
        result = tuple(int(n) for n in signature.program.containers[output].shape)
        options = {}
        if self.mode != "reverse":
            options["forward"] = colour_columns(pattern, source)
        if self.mode != "forward":
            options["reverse"] = colour_columns(pattern.T.tocsr(), result)
        mode = min(options, key=lambda m: options[m].max(initial=0))
        entries = pattern.tocoo()
        return Plan(entries.row, entries.col, pattern.shape, options[mode], mode)

    def one(self, name: str, arguments: Mapping[str, Any]) -> sp.csr_matrix:
        """Return the Jacobian by one argument."""
        plan = self.plan_of(name, arguments)
        dtype = np.asarray(as_array(arguments[name])).dtype
        if not plan.rows.size:
            return sp.csr_matrix(plan.shape, dtype=dtype)
        side = plan.columns if plan.mode == "forward" else plan.rows
        seeds = np.zeros((plan.passes, plan.colours.size), dtype)
        seeds[plan.colours, np.arange(plan.colours.size)] = 1
        found = Directions(self.f, (name,), plan.mode).run(arguments, seeds)[0].reshape(plan.passes, -1)
        across = plan.rows if plan.mode == "forward" else plan.columns
        return sp.csr_matrix((found[plan.colours[side], across], (plan.rows, plan.columns)), plan.shape)


def _integers(arguments: Mapping[str, Any]) -> list[Hashable]:
    """Return what the pattern depends on apart from shapes."""
    values = {n: np.asarray(as_array(v)) for n, v in arguments.items()}
    return [(n, v.tobytes()) for n, v in values.items() if v.dtype.kind in "iub"]
