"""Find the arguments that a result has a derivative by: others get no gradient, as in PyTorch's own graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.fx import Node

STOPS = {"detach", "stop_gradient", "drawn", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like"}
STOPS |= {"randn_like", "new_zeros", "new_ones", "new_full", "new_empty"}
"""Operations whose results do not depend on the content of their arguments, or are said not to."""


def reached(body: Sequence[Node], entering: Sequence[Node], leaving: Sequence[Node]) -> list[frozenset[int]]:
    """Return for each value that enters a graph the numbers of results with a path of derivatives to it."""
    sources: dict[Node, frozenset[Node]] = {n: frozenset([n]) for n in entering}
    for node in body:
        stopped = name_of(node) in STOPS or not is_real(node.meta.get("val"))
        above = () if stopped else (sources.get(n, frozenset()) for n in node.all_input_nodes)
        sources[node] = frozenset().union(*above)
    found: Mapping[Node, set[int]] = {n: set() for n in entering}
    for k, result in enumerate(leaving):
        for node in sources.get(result, ()):
            found[node].add(k)
    return [frozenset(found[n]) for n in entering]


def name_of(node: Node) -> str:
    """Return the name of an operation without namespace and overload."""
    return str(node.target).partition(".")[2].partition(".")[0] if node.op == "call_function" else ""


def is_real(value: object) -> bool:
    """True if a value, or a part of it, can have a derivative."""
    if isinstance(value, (tuple, list)):
        return any(map(is_real, value))
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point
