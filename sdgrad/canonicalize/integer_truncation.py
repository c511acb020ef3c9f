"""Variables of a Python function that are integers first and get real numbers later: a graph would cut these off."""

from __future__ import annotations

from dace import data as dt

from sdgrad.errors import ParseError
from sdgrad.program.kinds import infer, kind_of
from sdgrad.program.tree import Leaf, Program, walk

INTEGERS = ("int", "bool")


def refuse_truncation(program: Program) -> None:
    """Elements of arrays are cut off in NumPy, too; names are bound to what there is.

    :raises ParseError: a number is bound to a name whose type cannot hold it.
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
