"""Let functions that are recorded call models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.onnx.function import ModelFunction
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.table import fixed
from sdgrad.record.graphs import splice_graph
from sdgrad.record.reads import Content, Read
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import Array, is_recorded


@dataclass(frozen=True)
class Contents(Mapping):
    """Hold the operands of a model that is recorded. To ask for the content of one makes the program for it."""

    recorder: Recorder
    operands: Mapping[str, Any]
    weights: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the content of an operand.

        :raises ParseError: only a run knows it.
        """
        if name in self.weights:
            where = Read(self.weights, name, "item", self.weights[name])
            self.recorder.reads.contents.append(Content(where, self.weights[name].copy()))
            return self.weights[name]
        found = _content(self.operands[name])
        if found is None:
            raise ParseError(
                f"the content of '{name}' decides the shapes that the model computes, and only a run knows it: give "
                "the model an array of your own, or an argument as it is"
            )
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.operands or name in self.weights

    def __iter__(self) -> Iterator[str]:
        return iter((*self.operands, *self.weights))

    def __len__(self) -> int:
        return len(self.operands) + len(self.weights)


def _content(value: Any) -> np.ndarray | None:
    """Return the content of an operand; None if only a run knows it."""
    if not is_recorded(value):
        return np.asarray(value)
    found = fixed(value) if isinstance(value, Array) else None
    if found is not None or value.dtype.kind not in "iub":
        return found
    try:
        parts = [static(value[i] if value.shape else value) for i in np.ndindex(*value.shape)]
        return np.array(parts, value.dtype).reshape(value.shape)
    except ParseError:  # computed from data
        return None


def record(
    model: ModelFunction,
    recorder: Recorder,
    arguments: Mapping[str, Any],
    given: Mapping[str, Any],
    weights: dict[str, np.ndarray],
) -> Any:
    """Record a call of a model, and return its results: one, or a tuple.

    The program reads weights where they are; its derivatives take them as constants.

    :param arguments: arrays like all arguments, by name.
    :param given: inputs, by their names in the model.
    """
    imported = model.graph(arguments, Contents(recorder, given, weights))
    closure = {model.arguments[n]: Read(weights, n, "item", w) for n, w in weights.items()} | dict(imported.closure)
    shapes = [tuple(map(int, shape)) for shape, _ in imported.results]
    return splice_graph(
        recorder, imported.sdfg, closure, {model.arguments[n]: v for n, v in given.items()}, shapes, own=False
    )
