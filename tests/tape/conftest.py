"""Plans of programs that are written as text."""

from dataclasses import dataclass, replace

import pytest
from treetext import program, text

from sdgrad.analysis.activity import activity
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Program
from sdgrad.tape.plan import LeafPlan, TapePlan
from sdgrad.tape.recorder import Recorder
from sdgrad.tape.search import plan_tape

DECLARATIONS = """
    argument x: float64[8]
    argument w: float64[8]
    argument s: float64[1]
    argument idx: int64[8]
    argument n: int64[8]
    local t: float64[8]
    local k: int64[1]
    body
"""


@dataclass(frozen=True)
class Planned:
    """A program and its tape plan."""

    program: Program
    plan: TapePlan

    @property
    def tape(self) -> list[str]:
        """The entries of the tape, as text."""
        return str(self.plan).splitlines()

    def replay(self, *path: int) -> list[str]:
        """The instructions that give a leaf's adjoint its values, as text."""
        return [str(instr) for instr in self.plan.leaves.get(path, LeafPlan()).replay]

    @property
    def recorded(self) -> str:
        """The primal program with its stores to the tape, as text."""
        recorder = Recorder(self.program, self.plan, all_names(self.program))
        return text(replace(self.program, body=recorder.record(self.program.body)))


@pytest.fixture
def planned():
    """Plan the gradient of ``s`` with respect to ``x`` in a program with the containers above."""

    def plan(body: str, inputs=("x",), rerun: bool = True) -> Planned:
        of = program(DECLARATIONS + body)
        return Planned(of, plan_tape(of, activity(of, inputs, ("s",)), {}, all_names(of), rerun))

    return plan
