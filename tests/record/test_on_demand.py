"""Rules of parts of SciPy that take long to import are there when a program has imported such a part, not before."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import sdgrad

assert not {"scipy.stats", "scipy.signal", "scipy.ndimage", "scipy.interpolate"} & sys.modules.keys()

def density(x):
    import scipy.stats
    return np.sum(scipy.stats.norm.logpdf(x, 0.0, 2.0))

np.testing.assert_allclose(sdgrad.grad(density)(np.array([1.0, 2.0])), [-0.25, -0.5])

import scipy.signal
x = np.arange(5.0) ** 2
np.testing.assert_allclose(sdgrad.compile_forward(scipy.signal.detrend)(x), scipy.signal.detrend(x), atol=1e-12)
"""


def test_rules_come_with_what_they_are_of(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, program], check=True)
