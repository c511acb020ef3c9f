"""Join a model and a loss in NumPy style to one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dace import data as dt

from sdgrad.api.forward import compile_forward
from sdgrad.canonicalize.normal_form import normal_form, normalize
from sdgrad.convert.callables import python_function
from sdgrad.errors import ArgumentError
from sdgrad.frontend.parse import parse_for_descriptors
from sdgrad.onnx.function import ModelFunction, without_source
from sdgrad.program.inline import inline
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names, own_arguments, returned
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Container, Program, lasting
from sdgrad.runtime.call.marshalling import as_value
from sdgrad.specialize.signature import identity


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
        name = f"{self.model.name}_with_{python_function(self.loss).__name__}"
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
        shapes = self.model.graph(self._of_model(arguments)).results
        parameters = list(inspect.signature(python_function(self.loss)).parameters)
        descs: dict[str, dt.Data] = {}
        for name, result, (shape, _) in zip(parameters, returned(first), shapes, strict=False):
            dtype = first.containers[result].dtype
            descs[name] = dt.Array(dtype, list(shape)) if shape else dt.Scalar(dtype)
        for name, own in self.arguments.items():
            descs[name] = dt.create_datadescriptor(as_value(arguments[own]))
        second = normalize(parse_for_descriptors(self.loss, descs), own=True)
        names = all_names(first)
        names.add(self.arguments.values())
        outputs = returned(first)
        local = {o: names.fresh("output") for o in outputs}
        head = renamed_program(first, local)
        containers = {
            n: replace(c, desc=lasting(c.desc, True)) if n in local.values() else c for n, c in head.containers.items()
        }
        containers |= {own: Container(own, lasting(descs[p], False)) for p, own in self.arguments.items()}
        bound = {
            **{p: local[o] for p, o in zip(parameters, outputs, strict=False)},
            **self.arguments,
            **{r: r for r in returned(second)},
        }
        known = {p: c for p, c in bound.items() if p in second.containers}
        block, brought = inline(second, known, names)
        containers |= {c.name: c for c in brought.values()}
        containers |= {r: second.containers[r] for r in returned(second)}
        whole = replace(
            head,
            name=self._function.__name__,
            containers=containers,
            symbols={**head.symbols, **second.symbols},
            body=(*head.body, *block),
            arguments=(*own_arguments(first), *self.arguments.values(), *returned(second)),
        )
        return normal_form(whole), closure
