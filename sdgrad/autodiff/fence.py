"""Find everything that cannot be differentiated, and report all of it before anything is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sdgrad.analysis.activity import DIFFERENTIABLE_MODES, Activity, unknown_functions
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.autodiff.request import Request
from sdgrad.errors import DifferentiationError, NameNotFound, Problem, UnusedInputError
from sdgrad.program.kinds import kind_of
from sdgrad.program.registry import find_rule
from sdgrad.program.tree import Leaf, Loop, NodeCall, Program, Region
from sdgrad.runtime.libraries.communication import is_communication
from sdgrad.tape.plan import TapePlan


def check_request(program: Program, request: Request) -> None:
    """Raise an error unless the named containers exist and are of floating-point types."""
    problems = []
    for role, names in (("input", request.inputs), ("output", request.outputs)):
        for name in names:
            if name not in program.containers:
                raise NameNotFound(role, name, [n for n in program.arguments if _is_continuous(program, n)])
            dtype = program.containers[name].dtype
            if not _is_continuous(program, name):
                problems.append(
                    Problem(
                        f"{role} '{name}'",
                        f"is {dtype.to_string()}; gradients exist for floating-point containers only",
                        hint="convert it to float64, or leave it out",
                    )
                )
    if problems:
        raise DifferentiationError(problems)


def _is_continuous(program: Program, name: str) -> bool:
    return kind_of(program.containers[name].dtype) not in ("int", "bool")


def check_program(
    program: Program, request: Request, found: Activity, find: Callable[[NodeCall, Program], object] = find_rule
) -> None:
    """Raise an error unless every active construct has a derivative and every input that must matter does.

    :param find: returns the rule of a node call, or raises :class:`DifferentiationError`.
    """
    problems = unknown_functions(program, found)
    for path, node in nodes_with_paths(program.body):
        if isinstance(node, Leaf):
            for store in node.stores:
                if found.active(path, store.value) and store.mode not in DIFFERENTIABLE_MODES:
                    problems.append(
                        Problem(
                            f"write-conflict resolution '{store.mode}'",
                            f"into {store.container}",
                            str(node.source),
                            "use sum, product, min or max",
                        )
                    )
        elif isinstance(node, NodeCall) and is_active(node, path, found):
            try:
                find(node, program)
            except DifferentiationError as error:
                problems += error.problems
    if problems:
        raise DifferentiationError(problems)
    if request.unused == "error":
        unused = [n for n in request.inputs if program.root(n) not in found.useful_start]
        if unused:
            raise UnusedInputError(f"no output depends on {', '.join(repr(n) for n in unused)}")


def check_halves(program: Program, plan: TapePlan) -> None:
    """Raise an error for loops whose tape has no size before the forward pass has run.

    Such a tape cannot be an argument of two separate graphs.
    """
    loops = [node for path, node in nodes_with_paths(program.body) if path in plan.counters and isinstance(node, Loop)]
    message = "how often it runs is known only after the forward pass, and so is the size of what it keeps"
    hint = "leave both passes in one graph (separate_sdfgs=False), or write it as 'for' with bounds and 'if'"
    if loops:
        raise DifferentiationError([Problem("loop", message, str(loop.source), hint) for loop in loops])


def is_active(node: NodeCall, path: Path, found: Activity) -> bool:
    """True if a call carries a derivative from an operand to a result, on this rank or on another one."""
    return is_communication(node) or all(
        any(found.active(path, r.container) for r in regions.values()) for regions in (node.outputs, node.inputs)
    )


def operand_needs(program: Program, found: Activity) -> Mapping[Path, Mapping[str, Region]]:
    """Return the operands of each call, or parts of them, whose primal values the call's rule mentions."""
    needs = {}
    for path, node in nodes_with_paths(program.body):
        if isinstance(node, NodeCall) and is_active(node, path, found):
            wanted = tuple(c for c, r in node.inputs.items() if found.active(path, r.container))
            names = find_rule(node, program).needs(node, program, wanted)
            needs[path] = names if isinstance(names, Mapping) else {n: node.regions[n] for n in names}
    return needs
