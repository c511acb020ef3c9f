"""Find the handles by which the MPI of this process knows communicators, types and operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from sdgrad.program.naming import GROUP
from sdgrad.runtime.libraries.communication import HANDLES

_known: dict[int, tuple[str, np.ndarray, Any]] = {}
"""By the handle of a communicator: a name of its own in this process, its handles, and itself, so that it lives."""


def facts_of(comm: Any) -> dict[str, int]:
    """Return what a node has to know of a communicator when it is made."""
    return {"width": MPI._sizeof(MPI.Comm), "size": comm.Get_size(), "rank": comm.Get_rank()}


def handles_of(comm: Any) -> tuple[str, np.ndarray]:
    """Return a name of a communicator, and its handles with those of what its messages can be: :data:`HANDLES`."""
    own = MPI._handleof(comm)
    if own not in _known:
        values = [own, *_places_in_status(), *(MPI._handleof(getattr(MPI, name)) for name in HANDLES[3:])]
        _known[own] = f"{GROUP}_{len(_known)}", np.array(values, np.uint64).astype(np.int64), comm
    name, handles, _ = _known[own]
    return name, handles


def _places_in_status() -> tuple[int, int]:
    """Return where a status has the rank and the tag: each MPI has another order."""
    found = []
    for number, setter in ((7001, "Set_source"), (7002, "Set_tag")):
        status = MPI.Status()
        getattr(status, setter)(number)
        size = MPI._sizeof(MPI.Status)
        content = np.frombuffer(MPI.memory.fromaddress(MPI._addressof(status), size).tobytes(), np.int32)
        found.append(int(np.flatnonzero(content == number)[0]) * 4)
    return found[0], found[1]
