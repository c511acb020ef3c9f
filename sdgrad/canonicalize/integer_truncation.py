"""Refuse real numbers in integer variables of a Python function.

``s = 0`` followed by ``s = s + 0.5`` rebinds a name in Python. A graph has one integer container for both, and would
truncate.
"""

from __future__ import annotations

from dace import data as dt

from sdgrad.errors import ParseError
from sdgrad.program.kinds import infer, kind_of
from sdgrad.program.tree import Leaf, Program, walk

INTEGERS = ("int", "bool")


def refuse_truncation(program: Program) -> Program:
    """Check all assignments to scalars, and return the program as it is.

    Elements of arrays are exempt: NumPy truncates these, too.

    :raises ParseError: an assignment gives an integer scalar a real number, or a real one a complex number.
    """
    for node in walk(program.body):
        if not isinstance(node, Leaf):
            continue
        scalars = [s for s in node.stores if isinstance(program.containers[s.container].desc, dt.Scalar)]
        found = infer(node.body, program.containers) if scalars else {}
        for store in scalars:
            own, given = kind_of(program.containers[store.container].dtype), found.get(store.value)
            if own in INTEGERS and given in ("float", "complex") or own == "float" and given == "complex":
                first = "0.0" if given == "float" else "0j"
                raise ParseError(
                    f"{node.source}: '{store.container}' holds {own} numbers from its first value on, and gets a "
                    f"{given} one here. Write the first one as {first} or the like, or use another name"
                )
    return program
