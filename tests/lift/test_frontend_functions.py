"""DaCe's parser knows more functions while it parses for sdgrad, and only then."""

import subprocess
import sys
from pathlib import Path

import dace
import numpy as np
import pytest
from dace.frontend.common.op_repository import Replacements

import sdgrad
from sdgrad.lift.frontend_functions import FUNCTIONS, METHODS, known_functions

TESTS = Path(__file__).parents[1]
IN_A_FRESH_PROCESS = """
import dace
from dace.frontend.common.op_repository import Replacements
import dace.frontend.python.replacements, dace.libraries.blas, dace.libraries.standard, dace.libraries.fft
import dace.libraries.lapack, dace.libraries.linalg

def tables():
    kinds = ("_rep", "_oprep", "_ufunc_rep", "_method_rep", "_attr_rep")
    return {(kind, key): entry for kind in kinds for key, entry in getattr(Replacements, kind).items()}

def expansions():
    return {node: node.default_implementation for library in dace.library._DACE_REGISTERED_LIBRARIES.values()
            for node in library._dace_library_nodes if not node.__module__.startswith("sdgrad.")}

before, settings, chosen = tables(), str(dace.Config.get()), expansions()
assert len(chosen) > 20
import sdgrad
after = tables()
new = {key for key in after if after[key] is not before.get(key)}
assert all(name.startswith(("sdgrad.", "dace.libraries.")) for _, name in new), new
assert before.keys() <= after.keys() and str(dace.Config.get()) == settings
now = expansions()
assert {node: now[node] for node in chosen} == chosen
print("as it was")
"""


def output(*command: str, cwd: Path) -> str:
    found = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=cwd, check=False)
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


def test_the_import_leaves_the_tables_and_the_settings_of_dace_alone(tmp_path):
    assert "as it was" in output("-c", IN_A_FRESH_PROCESS, cwd=tmp_path)


def test_programs_without_derivatives_stay_as_they_are(tmp_path):
    script = str(TESTS / "plain_programs.py")
    plain, beside = (output(script, *module, cwd=tmp_path) for module in ((), ("sdgrad",)))
    lines = [line for line in plain.splitlines() if line.startswith("told")]
    assert len(lines) > 20
    assert lines == [line for line in beside.splitlines() if line.startswith("told")]


def test_functions_are_known_in_the_context():
    assert "numpy.linalg.det" in FUNCTIONS and ("Array", "cumsum") in METHODS
    with known_functions(), known_functions():
        assert Replacements.get("numpy.linalg.det") is not None
    assert Replacements.get("numpy.linalg.det") is None and Replacements.get_method("Array", "cumsum") is None


def test_a_context_that_fails_puts_the_tables_back():
    with pytest.raises(KeyError), known_functions():
        raise KeyError
    assert Replacements.get("numpy.linalg.det") is None


@dace.program
def volume(A: dace.float64[3, 3], out: dace.float64[3]):
    for i in dace.map[0:3]:
        out[i] = np.linalg.det(A) * A[i, i]
    return np.sum(out)


def test_programs_that_dace_parses_for_sdgrad_have_the_functions():
    A = np.diag([1.0, 2.0, 3.0])
    value, slope = sdgrad.value_and_grad(volume)(A, np.zeros(3))
    assert np.isclose(value, 36.0)
    assert np.allclose(np.diag(slope), 6 + 36.0 / np.diag(A))
    assert Replacements.get("numpy.linalg.det") is None
