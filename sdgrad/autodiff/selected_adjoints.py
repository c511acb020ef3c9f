"""Know of which adjoints every element was selected by what the program computes: a zero in them is a value.

The elements of an adjoint that nothing was added to are zero because nothing selected them, and so are those that were
cleared because the program overwrote what they belong to. Where nobody knows, an exact zero is in doubt (see
``selection``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from sdgrad.analysis.loop_private import is_whole
from sdgrad.autodiff.adjoints import Adjoints
from sdgrad.program.tree import Block, Node, NodeCall, children, walk, writes


@contextlib.contextmanager
def repeated(adjoints: Adjoints, body: Block) -> Iterator[None]:
    """Reverse a body that runs any number of times: what is known before must hold before each time, and after none."""
    for name in {w for node in walk(body) if not children(node) for w in writes(node)}:
        adjoints.note_selected(name, whole=False)
    known = set(adjoints.whole)
    yield
    adjoints.whole &= known


def alternatives(adjoints: Adjoints, arms: Iterable[Callable[[], Sequence[Node]]]) -> list[Block]:
    """Reverse the arms of a branch: what is known after all of them, and before, is known after the branch."""
    known, blocks, after = set(adjoints.whole), [], []
    for build in arms:
        adjoints.whole = set(known)
        blocks.append(tuple(build()))
        after.append(adjoints.whole)
    adjoints.whole = known.intersection(*after)
    written = {w for block in blocks for node in walk(block) if not children(node) for w in writes(node)}
    adjoints.note_arms(name for name, adjoint in adjoints.of.items() if adjoint in written)
    return blocks


def note_call(adjoints: Adjoints, call: NodeCall, selected: bool, wanted: Iterable[str]) -> None:
    """Note the operands whose adjoints a call's rule has added to as a whole.

    :param selected: True if the cotangents of all results were.
    """
    for region in (call.inputs[c] for c in wanted) if selected else ():
        if is_whole(region, adjoints.program.containers.get(region.container)):
            adjoints.note_selected(region.container, whole=True)
