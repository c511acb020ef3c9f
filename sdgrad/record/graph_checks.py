"""Let the library nodes of a graph check the indices that they find: the call raises an error for what lies outside."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import dace
from dace import SDFG, SDFGState
from dace import data as dt

from sdgrad.program.naming import STATUS
from sdgrad.runtime.call.checks import Checks


@runtime_checkable
class Indexing(Protocol):
    """A library node that may find indices outside of what they index."""

    def check_indices(self, operands: Mapping[str, dt.Data]) -> tuple[str, Sequence[BaseException]] | None:
        """Let it check them.

        :returns: the connector of the number of a failed check, and what the checks say; None if there are none.
        """


def with_checks(sdfg: SDFG) -> tuple[SDFG, dict[str, Checks]]:
    """Return a graph whose nodes check the indices that they find, and the arguments that it has for this.

    A graph without such nodes is returned as it is, any other one as a copy.
    """
    if not any(isinstance(n, Indexing) for state in sdfg.states() for n in state.nodes()):
        return sdfg, {}
    result = copy.deepcopy(sdfg)
    found: list[BaseException] = []
    status = result._find_new_name(STATUS)
    for state in result.states():
        for node in [n for n in state.nodes() if isinstance(n, Indexing)]:
            made = node.check_indices({e.dst_conn: result.arrays[e.data.data] for e in state.in_edges(node)})
            if made is None:
                continue
            if not found:
                result.add_array(status, [1], dace.int64)
            _tell(result, state, node, made[0], status, len(found))
            found += made[1]
    return result, {status: Checks(found)} if found else {}


def _tell(sdfg: SDFG, state: SDFGState, node: dace.nodes.Node, connector: str, status: str, before: int) -> None:
    """Leave the number of a node's failed check in an argument of the graph.

    :param before: how many checks other nodes have.
    """
    flag, _ = sdfg.add_transient("outside", [1], dace.int64, find_new_name=True)
    info = node.debuginfo or dace.dtypes.DebugInfo(0)  # without one, DaCe walks through the stack
    access = state.add_access(flag, debuginfo=info)
    code = f"failed = flag - {before} if flag != 0 else 0"
    task = state.add_tasklet("tell", {"flag"}, {"failed"}, code, debuginfo=info)
    state.add_edge(node, connector, access, None, dace.Memlet(f"{flag}[0]"))
    state.add_edge(access, None, task, "flag", dace.Memlet(f"{flag}[0]"))
    larger = dace.Memlet(f"{status}[0]", wcr="lambda a, b: max(a, b)")
    state.add_edge(task, "failed", state.add_write(status, debuginfo=info), None, larger)
