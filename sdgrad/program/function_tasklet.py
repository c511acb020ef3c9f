"""Write the call of an outlined function as one tasklet."""

from __future__ import annotations

import dace
from dace import data as dt
from dace import nodes as nd
from dace.sdfg.state import SDFGState

from sdgrad.program.dataflow import Dataflow, close
from sdgrad.program.outlining import Outlined


def write_call(
    flow: Dataflow,
    state: SDFGState,
    made: Outlined,
    label: str,
    entry: nd.MapEntry | None = None,
    exit_: nd.MapExit | None = None,
) -> None:
    """Write a call into a state, inside of a map if there is one.

    Numbers that the function writes are copied: DaCe hands them over by value.
    """
    written = {**made.arrays, **made.numbers}
    inside, outside = ({n: f"{made.prefix}{way}_{n}" for n in written} for way in ("in", "out"))
    inputs = {inside[n]: n for n, w in written.items() if not w or n in made.numbers}
    outputs = {outside[n]: n for n, w in written.items() if w}
    before = "".join(f"{outside[n]} = {inside[n]}; " for n, w in made.numbers.items() if w)
    names = {n: outside[n] if w else inside[n] for n, w in written.items()}
    given = [f"&{names[n]}" if n in made.numbers else names[n] for n in written]
    tasklet = state.add_tasklet(
        label,
        {c: _kind(n, flow) for c, n in inputs.items()},
        {c: _kind(n, flow) for c, n in outputs.items()},
        f"{before}{made.name}({', '.join([*given, *made.symbols])});",
        language=dace.Language.CPP,
        debuginfo=flow.info,
    )
    # DaCe looks for declared ones in all text in C++, where a variable of a library's call may have a loop's name
    for symbol in made.symbols:
        if symbol not in flow.sdfg.symbols and symbol not in flow.defined:
            flow.sdfg.add_symbol(symbol, flow.program.symbols.get(symbol, dace.int64))
    cache: dict = {}
    for connector, name in inputs.items():
        flow.connect_in(state, cache, name, entry, tasklet, connector, flow.whole(name))
    for connector, name in outputs.items():
        flow.connect_out(state, cache, name, exit_, tasklet, connector, flow.whole(name))
    if entry is not None and exit_ is not None:
        close(state, entry, exit_, tasklet, bool(inputs), bool(outputs))


def _kind(name: str, flow: Dataflow) -> dace.typeclass | None:
    """Return the type of a connector: the address of an array, also of one with a single element."""
    container = flow.program.containers[name]
    return None if isinstance(container.desc, dt.Scalar) else dace.pointer(container.dtype)
