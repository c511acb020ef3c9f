"""Choose the cheapest values to tape: a minimum vertex cut between the lost values and the needed ones.

The graph has an edge from each operand to its result. Each name is split into an "in" and an "out" vertex, joined by
an edge of the name's cost, which makes a vertex cut an edge cut. By the max-flow min-cut theorem (Ford & Fulkerson
1956), a maximum flow finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

import networkx as nx
from networkx.algorithms.flow import shortest_augmenting_path


def cheapest_cut(uses: Mapping[str, Set[str]], needed: Iterable[str], cost: Callable[[str], int | None]) -> set[str]:
    """Return the cheapest names to tape such that all needed names can be recomputed.

    :param uses: the tainted operands of each tainted name. A name without any is lost itself.
    :param needed: the names with values that the adjoint mentions.
    :param cost: of taping a name; None if it cannot be taped.
    """
    needed = set(needed)
    if not needed:
        return set()
    lost = {n for n, used in uses.items() if not used}
    if needed <= lost:
        return needed
    graph = nx.DiGraph()
    for name, used in uses.items():
        price = cost(name)
        # without a capacity, the capacity of an edge is infinite
        graph.add_edge((name, "in"), (name, "out"), **({} if price is None else {"capacity": price}))
        for other in used:
            graph.add_edge((other, "out"), (name, "in"))
    for name in lost:
        graph.add_edge("source", (name, "in"))
    for name in needed:
        graph.add_edge((name, "out"), "sink")
    _, (reachable, _) = nx.minimum_cut(graph, "source", "sink", flow_func=shortest_augmenting_path)
    return {n for n in uses if (n, "in") in reachable and (n, "out") not in reachable}
