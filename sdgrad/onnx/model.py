"""A model as a function that can be called and differentiated."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np
import onnx

from sdgrad.api import vjp
from sdgrad.errors import ArgumentError, NameNotFound, UnsupportedOperator
from sdgrad.frontend.parse import bind_arguments
from sdgrad.names import Names
from sdgrad.onnx.importing import Imported, Importer, identifier
from sdgrad.onnx.reading import Reading, read
from sdgrad.onnx.statics import evaluate
from sdgrad.onnx_ops.session import failure
from sdgrad.onnx_ops.tensors import Unknown
from sdgrad.pipeline import normalize
from sdgrad.program.tree import Program
from sdgrad.runtime.arrays import as_array, is_tensor, like
from sdgrad.signature import Signature


def alike(results: Iterable[np.ndarray], arguments: Mapping[str, Any]) -> Any:
    """Results as the arguments are: torch tensors where these came in; one array for one, else a tuple."""
    kind = next((v for v in arguments.values() if is_tensor(v)), None)
    found = tuple(r if kind is None else like(r, kind) for r in results)
    return found[0] if len(found) == 1 else found


@dataclass(eq=False)
class ModelFunction:
    """A model's graph as a function of its inputs and weights, as the engine takes functions."""

    reading: Reading
    name: str
    arguments: dict[str, str]  # of the function, by the names in the model
    statics: dict[Hashable, list[str]] = field(default_factory=dict)
    imported: dict[Hashable, Imported] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in self.arguments.values()]

        def f(*args: Any, **kwargs: Any) -> None:
            """The model's graph has no Python source."""

        f.__name__ = self.name
        f.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        self._function = f

    @property
    def f(self) -> Callable:
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs, as :meth:`Model.__call__` gives them."""
        return self.run(bind_arguments(self, args, kwargs))

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """The outputs: one array for one, else a tuple."""
        signature = Signature.of(self, arguments)
        found = signature.primal()(signature.arguments(arguments))
        if error := failure():
            raise error
        shapes = [shape for shape, _ in self.graph(arguments).results]
        return alike([found[n].reshape(s) for n, s in zip(signature.outputs, shapes, strict=True)], arguments)

    def identity(self) -> Hashable:
        return ("onnx", id(self))

    def fixed(self, arguments: Mapping[str, Any]) -> Hashable:
        """The content of what decides shapes."""
        return self._import(arguments)[0]

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        imported = self.graph(arguments)
        return normalize(imported.sdfg), imported.closure

    def graph(self, arguments: Mapping[str, Any]) -> Imported:
        """The model as a graph, for arguments of these shapes."""
        return self._import(arguments)[1]

    def _import(self, arguments: Mapping[str, Any]) -> tuple[Hashable, Imported]:
        own = {v: k for k, v in self.arguments.items()}
        given = {own[n]: np.asarray(as_array(v)) for n, v in arguments.items()}
        shapes = tuple((n, v.shape, str(v.dtype)) for n, v in given.items())
        names = self.statics.setdefault(shapes, [])
        while True:
            values = evaluate(self.reading, names, given)
            key = (shapes, tuple((n, v.tobytes(), v.shape) for n, v in values.items()))
            if key in self.imported:
                return key[1], self.imported[key]
            operands = {n: (v.shape, v.dtype) for n, v in given.items()}
            known = {**self.reading.constants, **values}
            try:
                self.imported[key] = Importer(self.reading, operands, self.arguments, known).run(self.name)
            except Unknown as reason:
                if reason.container in names:
                    raise
                names.append(reason.container)


class Model:
    """An ONNX model, run and differentiated as generated code. Made by :func:`load`."""

    def __init__(self, reading: Reading, name: str) -> None:
        names = Names(())
        self.reading = reading
        self.inputs = tuple(i.name for i in reading.inputs)
        self.outputs = tuple(reading.outputs)
        self.weights: dict[str, np.ndarray] = dict(reading.weights)
        arguments = {n: names.fresh(identifier(n)) for n in (*self.inputs, *self.weights)}
        self.function = ModelFunction(reading, identifier(name), arguments)

    def __repr__(self) -> str:
        return f"<{self.function.name}: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"

    def bound(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments of the function, by name.

        :raises ArgumentError: an input is missing, or there is none of that name.
        """
        if len(inputs) > len(self.inputs):
            raise ArgumentError(f"{self!r} takes {len(self.inputs)} inputs, and {len(inputs)} were given")
        given = dict(zip(self.inputs, inputs, strict=False))
        for name, value in named.items():
            if name not in self.inputs:
                raise NameNotFound("input", name, self.inputs)
            if name in given:
                raise ArgumentError(f"input '{name}' was given twice")
            given[name] = value
        if missing := [n for n in self.inputs if n not in given]:
            raise ArgumentError(f"input '{missing[0]}' is missing")
        self._check(given)
        return {
            self.function.arguments[n]: v for n, v in {**{n: given[n] for n in self.inputs}, **self.weights}.items()
        }

    def _check(self, given: Mapping[str, Any]) -> None:
        for info in self.reading.inputs:
            kind = info.type.tensor_type
            value = np.asarray(as_array(given[info.name]))
            if kind.elem_type:
                wanted = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
                if value.dtype != wanted:
                    raise ArgumentError(f"input '{info.name}' is {value.dtype}; the model takes {wanted}")
            if kind.HasField("shape"):
                dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim]
                fits = len(dims) == value.ndim and all(
                    not isinstance(d, int) or d == n for d, n in zip(dims, value.shape, strict=False)
                )
                if not fits:
                    expected = ", ".join("?" if d is None else str(d) for d in dims)
                    raise ArgumentError(f"input '{info.name}' has shape {value.shape}; the model takes ({expected})")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs: one array for one, else a tuple; torch tensors where these came in."""
        arguments = self.bound(inputs, named)
        try:
            return self.function.run(arguments)
        except UnsupportedOperator:  # the model holds what cannot be generated
            given = {n: np.asarray(as_array(arguments[a])) for n, a in self.function.arguments.items()}
            return alike(evaluate(self.reading, self.outputs, given).values(), arguments)

    def vjp(self, *inputs: Any, **named: Any) -> tuple[Any, Callable]:
        """The outputs, and the function from their cotangents to gradients by name, of inputs and weights."""
        arguments = self.bound(inputs, named)
        outputs, pull = vjp(self.function, *arguments.values())

        def pullback(*cotangents: Any) -> dict[str, Any]:
            return dict(zip(self.function.arguments, pull(*cotangents), strict=True))

        return outputs, pullback

    def sdfg(self, *inputs: Any, **named: Any) -> dace.SDFG:
        return self.function.graph(self.bound(inputs, named)).sdfg


def load(model: str | os.PathLike | bytes | onnx.ModelProto, name: str = "") -> Model:
    """A model from a file, its content, or as ``onnx`` has it.

    :raises InvalidModel: it is corrupt, incomplete, or of a version that is not known.
    """
    reading = read(model)
    return Model(reading, name or reading.graph.name or "model")
