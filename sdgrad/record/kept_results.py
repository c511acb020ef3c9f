"""Keep some results of a function that is computed again on the way backwards: products of matrices, or named values.

The function is recorded twice. First it returns what is kept beside its results. Where it is recorded for the way
backwards, what was kept stands in place of what computes it, so that this is needed no longer; derivatives pass on to
that as before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sdgrad.program.custom_rule import COTANGENT, CustomRule
from sdgrad.program.tree import Node
from sdgrad.record.custom import Variables, put
from sdgrad.record.functions.creation import duplicate
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import operand, rule
from sdgrad.record.named_rule import NamedRule
from sdgrad.record.values import Array

T = TypeVar("T")
DOTS = "dots"
COMPUTED, VALUE = "computed", "value"


@dataclass
class Kept:
    """What a recording keeps, or takes in place of it.

    Values in loops and in branches are computed again: there are as many as a run makes.

    :param policy: ``"dots"``: products of matrices; or the names of values.
    :param depth: blocks around the recording.
    :param given: what was kept the first time; None: this is the first time.
    """

    policy: str | Collection[str]
    depth: int
    given: Sequence[Any] | None = None
    found: list[Array] = field(default_factory=list)

    def value(self, value: Any, name: str | None = None) -> Any:
        """Return a value, which is kept if the policy says so; ``name`` is None for a product."""
        is_wanted = self.policy == DOTS if name is None else self.policy != DOTS and name in self.policy
        if not is_wanted or not isinstance(value, Array) or len(value.recorder.blocks) != self.depth:
            return value
        if value.dtype.kind not in "fc":
            return value
        self.found.append(value)
        if self.given is None:
            self.found[-1] = duplicate(value)
            return value
        return taken_from(value, self.given[len(self.found) - 1])


class PassOn(NamedRule):
    """The cotangent of what is computed is that of the value that stands in its place."""

    label = "kept"
    taken = (COTANGENT + VALUE,)

    def __call__(self, cotangent: Any) -> tuple:
        """Return the cotangent."""
        return (cotangent,)


def taken_from(computed: Array, kept: Any) -> Array:
    """Record what was kept in place of what is computed."""
    recorder = computed.recorder
    variables, block = Variables(recorder), list[Node]()
    variables.add(COMPUTED, computed)
    constant = detached(kept)  # derivatives pass by what is computed
    tensor = recorder.declare(VALUE, computed.tensor.shape, computed.dtype)
    with recorder.inside(block):
        put(recorder, tensor, constant)
    variables.operands[VALUE] = variables.operand(tensor, not tensor.shape)
    rule_ = CustomRule("kept", (COMPUTED,), vjp=PassOn(), results=(VALUE,))
    recorder.append(variables.call(rule_, block))
    return recorder.array(tensor)


def checkpoint_name(x: T, name: str) -> T:
    """Return ``x`` as a value of that name, which ``checkpoint(policy=[name])`` keeps. Compare JAX's function."""
    return x


@rule(checkpoint_name)
def named(x: Any, name: str) -> Any:
    """Record a value that a policy may keep."""
    value = operand(x)
    recorder = getattr(value, "recorder", None)
    return x if recorder is None or recorder.kept is None else recorder.kept.value(value, name)
