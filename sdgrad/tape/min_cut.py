"""The cheapest values to keep: a minimum vertex cut between what is lost and what is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

import networkx as nx
from networkx.algorithms.flow import shortest_augmenting_path


def cheapest_cut(uses: Mapping[str, Set[str]], needed: Iterable[str], cost: Callable[[str], int | None]) -> set[str]:
    """Names to keep so that every needed one can be computed again.

    :param uses: for every name that is lost, or computed from what is, the names of that kind it is computed from.
        A name without any is lost itself.
    :param needed: the names that must be had.
    :param cost: of keeping a name; None where it cannot be kept.
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
        # a price of None leaves the edge without capacity, which networkx takes for infinite
        graph.add_edge((name, "in"), (name, "out"), **({} if price is None else {"capacity": price}))
        for other in used:
            graph.add_edge((other, "out"), (name, "in"))
    for name in lost:
        graph.add_edge("source", (name, "in"))
    for name in needed:
        graph.add_edge((name, "out"), "sink")
    _, (reachable, _) = nx.minimum_cut(graph, "source", "sink", flow_func=shortest_augmenting_path)
    return {n for n in uses if (n, "in") in reachable and (n, "out") not in reachable}
