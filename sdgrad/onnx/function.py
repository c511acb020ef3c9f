"""Make a model's graph a function of its inputs and weights, in the form that the engine takes functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import dace
import numpy as np

from sdgrad.canonicalize.normal_form import normalize
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.errors import UnsupportedOperator
from sdgrad.onnx.importing import Imported, Importer
from sdgrad.onnx.reading import Reading
from sdgrad.onnx.statics import evaluate
from sdgrad.program.tree import Program
from sdgrad.record.elements import Dim, Unknown
from sdgrad.record.graph_checks import with_checks
from sdgrad.runtime.call.marshalling import as_array, is_tensor, like
from sdgrad.specialize.signature import Signature


def alike(results: Iterable[np.ndarray], arguments: Mapping[str, Any]) -> Any:
    """Return results as the arguments are: torch tensors if these were; one array for one result, else a tuple."""
    kind = next((v for v in arguments.values() if is_tensor(v)), None)
    found = tuple(r if kind is None else like(r, kind) for r in results)
    return found[0] if len(found) == 1 else found


def without_source(name: str, parameters: Iterable[str]) -> Callable:
    """The name and the parameters of a function that is a graph: what the engine asks Python functions for."""

    def f(*args: Any, **kwargs: Any) -> None:
        """A model's graph has no Python source."""

    f.__name__ = name
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    f.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in parameters])  # type: ignore[attr-defined]
    return f


class Watch(Protocol):
    """Somebody who sees the graphs that are made of a model, and may change them in place."""

    def imported(self, sdfg: dace.SDFG) -> None:
        """A graph of operators, before it is read."""

    def is_watched(self) -> bool:
        """True if the graphs of the two halves are asked for."""

    def differentiated(self, forward: dace.SDFG, backward: dace.SDFG) -> None:
        """The graphs of the two halves, before they are compiled."""


@dataclass(eq=False)
class ModelFunction:
    """A model's graph as a function of its inputs and weights, as the engine takes functions.

    :param open: shapes of arguments that are not those of the first call but hold for all: with symbols in them.
    """

    reading: Reading
    name: str
    arguments: dict[str, str]  # of the function, by the names in the model
    statics: dict[Hashable, list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # why tensors are computed before, if not for their content
    imported: dict[Hashable, Imported] = field(default_factory=dict)
    watch: Watch | None = None
    open: Mapping[str, tuple[Dim, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._function = without_source(self.name, self.arguments.values())

    @property
    def f(self) -> Callable:
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the outputs, as :meth:`Model.__call__` does."""
        return self.run(bind_arguments(self, args, kwargs))

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Return the outputs: one array for one, else a tuple."""
        signature = Signature.of(self, arguments)
        found = signature.primal()(signature.arguments(arguments))
        shapes = [shape for shape, _ in self.graph(arguments).results]
        return alike([found[n].reshape(s) for n, s in zip(signature.outputs, shapes, strict=True)], arguments)

    def identity(self) -> Hashable:
        return ("onnx", id(self))

    def fixed(self, arguments: Mapping[str, Any]) -> Hashable:
        """Return the contents that decide shapes, and whether indices are checked."""
        return self._import(arguments)[0], config.check_indices

    def extents(self) -> Mapping[str, Hashable]:
        """Return shapes that one program has for all sizes, by argument."""
        return self.open

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        imported = self.graph(arguments)
        if not config.check_indices:
            return normalize(imported.sdfg), imported.closure
        graph, checks = with_checks(imported.sdfg)
        return normalize(graph, own=bool(checks)), {**imported.closure, **checks}

    def is_watched(self) -> bool:
        """True if somebody wants to see the graphs of the two halves."""
        return self.watch is not None and self.watch.is_watched()

    def differentiated(self, forward: dace.SDFG, backward: dace.SDFG) -> None:
        """The graphs of the two halves, before they are compiled."""
        if self.watch is not None:
            self.watch.differentiated(forward, backward)

    def graph(self, arguments: Mapping[str, Any], contents: Mapping[str, np.ndarray] | None = None) -> Imported:
        """Return the model as a graph, for arguments of these shapes.

        :param contents: the contents of inputs and weights, by the model's names, unless the arguments have them.
        """
        return self._import(arguments, contents)[1]

    def _import(
        self, arguments: Mapping[str, Any], contents: Mapping[str, np.ndarray] | None = None
    ) -> tuple[Hashable, Imported]:
        """Import the model, and again with each content that turns out to decide shapes."""
        own = {v: k for k, v in self.arguments.items()}
        given = {own[n]: np.asarray(as_array(v)) for n, v in arguments.items()}
        extents = {own[n]: shape for n, shape in self.open.items()}
        operands = {n: (extents.get(n, v.shape), v.dtype) for n, v in given.items()}
        shapes = tuple((n, shape, str(dtype)) for n, (shape, dtype) in operands.items())
        names = self.statics.setdefault(shapes, [])
        while True:
            values = evaluate(self.reading, names, given if contents is None else contents)
            key = (shapes, tuple((n, v.tobytes(), v.shape) for n, v in values.items()))
            if key in self.imported:
                return key[1], self.imported[key]
            known = {**self.reading.constants, **values}
            try:
                found = Importer(self.reading, operands, self.arguments, known).run(self.name)
                if self.watch is not None:
                    self.watch.imported(found.sdfg)
                self.imported[key] = found
            except Unknown as reason:
                if reason.container in names:
                    raise UnsupportedOperator("model", self.name, str(reason)) from reason
                names.append(reason.container)
                self.reasons[reason.container] = reason.why
