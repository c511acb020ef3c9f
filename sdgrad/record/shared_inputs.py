"""Declare the arguments that a program shares with the programs it calls: what communications need."""

from __future__ import annotations

import numpy as np

from sdgrad.program.naming import ORDER
from sdgrad.record.recorder import Recorder
from sdgrad.record.tensors import Tensor

WHOLE = np.dtype(np.int64)


def shared_input(recorder: Recorder, name: str, content: np.ndarray) -> Tensor:
    """Return the argument of this name: one in a program, and in all that it calls."""
    if name not in recorder.inputs:
        recorder.names.add([name])
        recorder.inputs[name] = content
        return recorder.declare(name, content.shape, content.dtype, argument=True)
    return Tensor(recorder, name, content.shape, content.dtype)


def order(recorder: Recorder) -> Tensor:
    """Return the argument that each communication reads and writes, so that they stay in order."""
    return shared_input(recorder, ORDER, np.zeros(1, WHOLE))
