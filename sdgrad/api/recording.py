"""Look at what is recorded of a function: ``trace``, and its graph: ``to_sdfg``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dace
import numpy as np

from sdgrad.pipeline import to_plain_graph
from sdgrad.program.recorded import remember
from sdgrad.program.source_lines import file_and_line, text_of
from sdgrad.program.tree import Branch, Loop, Node, Program, Scope, children, lines, with_children
from sdgrad.record.function import record
from sdgrad.record.known_content import with_content
from sdgrad.record.shown import short
from sdgrad.runtime.call.marshalling import as_recorded
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.signature import Signature

LARGEST_WRITTEN = 1024
"""Elements of known arrays that graphs write themselves."""


@dataclass(frozen=True)
class Trace:
    """What was recorded of a function: ``print`` it, or look at the ``program``, node by node.

    :param fixed: arguments whose values it was recorded for, because Python asked for them.
    :param reads: what it read outside of its arguments; arrays are read again at each call.
    """

    program: Program
    fixed: frozenset[str]
    reads: tuple[str, ...]

    def __str__(self) -> str:
        head = [f"recorded {self.program.name}", *(f"  {c}" for c in self.program.containers.values())]
        head += [f"  for this value of {n}" for n in sorted(self.fixed)]
        head += [f"  reads {r}" for r in self.reads]
        return "\n".join([*head, *_shown(self.program.body, "  ", [""])])


def _shown(block: tuple[Node, ...], indent: str, last: list[str]) -> Iterator[str]:
    """Yield nodes as text, each after the line of the user's code that it comes from."""
    for node in block:
        source = node.source
        if source.file and source.line and (place := file_and_line(source)) != last[0]:
            last[0] = place
            yield f"{indent}# {place}  {text_of(source)}"
        if isinstance(node, (Scope, Loop, Branch)):
            parts = children(node)
            heads = list(lines(with_children(node, ((),) * len(parts))))
            for head, part in zip([*heads, *[""] * len(parts)], parts, strict=False):
                yield indent + head
                yield from _shown(part, indent + "  ", last)
        else:
            yield from (indent + text for text in lines(node))


@short
def trace(f: Callable, *args: Any, **kwargs: Any) -> Trace:
    """Record ``f`` for arguments like these, and show what was recorded, with the lines of the source.

    :param f: a NumPy-style function, or anything else that :func:`~sdgrad.grad` takes.
    """
    call = Call.of(f, args, kwargs)
    found = record(call.f, {n: as_recorded(v) for n, v in call.arguments.items()})
    reads = tuple(dict.fromkeys(r.told() for r in found.guards if hasattr(r, "told")))
    return Trace(found.program, found.fixed, tuple(r for r in reads if r))


@short
def to_sdfg(f: Callable, *args: Any, **kwargs: Any) -> dace.SDFG:
    """Return the state/tasklet graph of ``f`` for arguments like these, as it is before it is differentiated.

    Its arguments are those of ``f``: one for each array of a nest, ``params_0_W`` for ``params[0]["W"]``; then the
    arrays that ``f`` reads outside, and its results ``__return``, or ``__return_0``, ... Arrays of known content that
    have no name are written by the graph up to 1,024 elements, and are arguments ``constant_0``, .. beyond. An argument
    ``sdgrad_status`` is an ``int64`` array of one element: zero on entry, it tells whether a check has failed.

    It is an ordinary graph of DaCe: transform it, compile it, or give it to :func:`~sdgrad.add_backward_pass`. If
    functions in it have derivatives of their own (factorizations, :func:`~sdgrad.custom_vjp`), differentiate it before
    anything else: only the graph that is returned knows of them.
    """
    call = Call.of(f, args, kwargs)
    signature = Signature.of(call.f, call.arguments)
    fixed = {n: v for n, v in signature.closure.items() if isinstance(v, np.ndarray) and v.size <= LARGEST_WRITTEN}
    program = with_content(signature.program, fixed)
    return remember(to_plain_graph(program), program)
