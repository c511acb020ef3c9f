"""The program on the page about MPI, as it is printed there, on one rank and on two."""

import re

import numpy as np
import pytest

from tests.distributed.ranks import ROOT, run_script

CHECK = """
import json
together = comm.gather(du, root=0)
if comm.rank == 0:
    print(json.dumps({"name": "fit", "dk": float(dk), "du": np.concatenate(together).tolist()}), flush=True)
"""


def on_one_rank(u, k, steps=50):
    """The same, by hand: the loss is u^T u after the steps, which are symmetric matrices."""
    n = len(u)
    laplacian = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    step = np.eye(n) + k * laplacian
    last = np.linalg.matrix_power(step, steps) @ u
    du = 2 * np.linalg.matrix_power(step, steps) @ last
    dk = 2 * steps * last @ (np.linalg.matrix_power(step, steps - 1) @ laplacian @ u)
    return du, dk


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_program_of_the_page(tmp_path, ranks):
    (program,) = re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "distributed.md").read_text(), re.DOTALL)
    script = tmp_path / "fit.py"
    script.write_text("import sdgrad\n\nsdgrad.config.optimization_level = 0\n" + program + CHECK)
    found = run_script(script, ranks)["fit"]
    u = np.concatenate([np.linspace(rank, rank + 1, 100) for rank in range(ranks)])
    du, dk = on_one_rank(u, 0.1)
    np.testing.assert_allclose(found["du"], du, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found["dk"], dk, rtol=1e-10)
