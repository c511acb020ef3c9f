"""Join a model and a loss in NumPy style to one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sdgrad.api.forward import compile_forward
from sdgrad.canonicalize.normal_form import normal_form
from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ArgumentError
from sdgrad.onnx.function import ModelFunction, without_source
from sdgrad.program.descriptors import lasting
from sdgrad.program.inline import inline
from sdgrad.program.names import Names
from sdgrad.program.naming import own_arguments, returned
from sdgrad.program.tree import Program
from sdgrad.runtime.call.marshalling import as_value
from sdgrad.specialize.signature import Signature, identity
from sdgrad.symbolic.expr import sym


@dataclass(eq=False)
class WithLoss:
    """Compute ``loss(*model(inputs), *more)``; the arguments are the model's, then the loss's own.

    :param loss: a NumPy-style function of the model's outputs, in order, and of more arguments; it returns a scalar.
    """

    model: ModelFunction
    loss: Callable
    outputs: int
    arguments: dict[str, str] = field(init=False)  # of this function, by those of the loss

    def __post_init__(self) -> None:
        parameters = list(inspect.signature(python_function(self.loss)).parameters)
        if len(parameters) < self.outputs:
            raise ArgumentError(f"the loss takes {len(parameters)} arguments, and the model has {self.outputs} outputs")
        names = Names(self.model.arguments.values())
        self.arguments = {p: names.fresh(p) for p in parameters[self.outputs :]}
        name = f"{self.model.name}_with_{name_of(self.loss)}"
        self._function = without_source(name, [*self.model.arguments.values(), *self.arguments.values()])

    @property
    def f(self) -> Callable:
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of the loss."""
        return compile_forward(self)(*args, **kwargs)

    def identity(self) -> Hashable:
        return ("onnx loss", self.model.identity(), identity(self.loss))

    def _of_model(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {n: arguments[n] for n in self.model.arguments.values()}

    def fixed(self, arguments: Mapping[str, Any]) -> Hashable:
        return self.model.fixed(self._of_model(arguments))

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return both programs, one after the other; the model's results become local."""
        first, closure = self.model.derive(self._of_model(arguments))
        loss = self._signature(first, arguments)
        names = Names([*own_arguments(first), *self.arguments.values()])
        local = {o: names.fresh("output") for o in returned(first)}
        bound: dict[str, str] = dict(zip(self._parameters(), local.values(), strict=False))
        bound |= self.arguments | {n: names.fresh(n) for n in loss.closure}
        whole = _joined(_apart(first, local, names), loss.program, bound, names)
        return normal_form(replace(whole, name=self._function.__name__)), {
            **closure,
            **{bound[n]: v for n, v in loss.closure.items()},
        }

    def _parameters(self) -> list[str]:
        return list(inspect.signature(python_function(self.loss)).parameters)

    def _signature(self, first: Program, arguments: Mapping[str, Any]) -> Signature:
        """Return the loss for results of the model as they are for these arguments."""
        shapes = self.model.graph(self._of_model(arguments)).results
        given: dict[str, Any] = {}
        for name, result, (shape, _) in zip(self._parameters(), returned(first), shapes, strict=False):
            given[name] = np.zeros(shape, first.containers[result].dtype.type)[()]
        return Signature.of(self.loss, {**given, **{n: as_value(arguments[o]) for n, o in self.arguments.items()}})


def _apart(program: Program, results: Mapping[str, str], names: Names) -> Program:
    """Return a program whose results and own names are none of ``names``, as arguments of a loss may be called."""
    kept = {n: n for n in own_arguments(program)}
    block, brought = inline(program, {**kept, **results}, names)
    there = {c: replace(program.containers[n], name=c) for n, c in {**kept, **results}.items()}
    return replace(
        program, containers={**there, **{c.name: c for c in brought.values()}}, body=block, arguments=tuple(kept)
    )


def _joined(head: Program, loss: Program, bound: Mapping[str, str], names: Names) -> Program:
    """Return two programs, one after the other; ``bound`` are the arguments of the second, by their names in both."""
    results = returned(loss)
    known = {p: c for p, c in bound.items() if p in loss.containers} | {r: r for r in results}
    block, brought = inline(loss, known, names, {p: sym(c) for p, c in bound.items() if p in loss.symbols})
    inner = set(bound.values())
    kept = {n: replace(c, desc=lasting(c.desc, True)) if n in inner else c for n, c in head.containers.items()}
    own = {c: replace(loss.containers[p], name=c) for p, c in known.items() if c not in kept}
    return replace(
        head,
        containers={**kept, **own, **{c.name: c for c in brought.values()}},
        symbols={**head.symbols, **{bound.get(s, s): dtype for s, dtype in loss.symbols.items()}},
        body=(*head.body, *block),
        arguments=(
            *(n for n in own_arguments(head) if n not in inner),
            *(c for c in own if c not in results),
            *results,
        ),
    )
