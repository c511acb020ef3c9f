"""What library nodes expand to in graphs of this library, where they name nothing themselves.

DaCe keeps its defaults in the classes of the nodes, for every graph of a process. Those stay as they are: a node gets
the name of its implementation when a graph is written.
"""

from __future__ import annotations

from dace import nodes as nd

IMPLEMENTATIONS: dict[type[nd.LibraryNode], str | None] = {}


def choose_implementation(node: nd.Node) -> None:
    """Give a library node without an implementation the one that its kind has here, if there is one."""
    if isinstance(node, nd.LibraryNode) and node.implementation is None:
        node.implementation = IMPLEMENTATIONS.get(type(node))
