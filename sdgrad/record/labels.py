"""Name containers of recorded programs as the variables that they were bound to."""

from __future__ import annotations

from typing import Any

from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import Array, Number


def label(recorder: Recorder, name: str, value: Any) -> None:
    """Give a value the name of the variable that it is bound to, unless it has one."""
    if isinstance(value, Number):
        if value.name is not None and value.label is None:
            value.label = name
        elif value.name is None and value.tensor is not None and value.tensor.is_plain:
            _name(recorder, value.tensor.container, name)
    elif not isinstance(value, Array):
        return
    elif value.storage.known is not None:
        if value.shown is value.storage.known:
            recorder.labels.setdefault(value.storage.name, name)
    elif value.tensor.is_plain:
        _name(recorder, value.storage.name, name)


def _name(recorder: Recorder, container: str, name: str) -> None:
    """Give a container of the program's own a name, unless it has one."""
    found = recorder.containers.get(container)
    if container not in recorder.labels and found is not None and found.desc.transient:
        recorder.labels[container] = name


def labelled(recorder: Recorder, program: Program) -> Program:
    """Return the program with the names of variables for containers that were bound to such.

    Temporaries without a variable make room for them.
    """
    labels = {c: name for c, name in recorder.labels.items() if c in program.containers}
    if not labels:
        return program
    others = {n for n, c in program.containers.items() if c.desc.transient and n not in labels}
    wanted = others & set(labels.values())
    names = all_names(program)
    moved = {n: names.fresh(n) for n in sorted(wanted)}
    names.free(wanted)
    places = {container: names.fresh(name) for container, name in labels.items()}
    return renamed_program(program, places | moved)
