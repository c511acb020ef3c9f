"""A model's graph as a function of its inputs and weights, in the form that the engine takes functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgrad.frontend.parse import bind_arguments
from sdgrad.onnx.importing import Imported, Importer
from sdgrad.onnx.reading import Reading
from sdgrad.onnx.statics import evaluate
from sdgrad.onnx_ops.elements import Unknown
from sdgrad.onnx_ops.session import failure
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

    def deciding(self, arguments: Mapping[str, Any]) -> list[str]:
        """Tensors, by the model's names, for whose content the program is made: they decide shapes."""
        self._import(arguments)
        own = {v: k for k, v in self.arguments.items()}
        return self.statics[_shapes({own[n]: np.asarray(as_array(v)) for n, v in arguments.items()})]

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
        shapes = _shapes(given)
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


def _shapes(given: Mapping[str, np.ndarray]) -> Hashable:
    return tuple((n, v.shape, str(v.dtype)) for n, v in given.items())
