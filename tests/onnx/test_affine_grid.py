"""``AffineGrid`` of batches of any size: the standard's own definition drops all axes of size one."""

import numpy as np
import pytest

import sdgrad
from sdgrad import onnx_ops

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("count", "align"), [(1, 0), (1, 1), (2, 0)])
def test_grids_are_pytorchs(count, align):
    sizes = [count, 1, 2, 3]

    def weighted(theta):
        grid = onnx_ops.ONNXAffineGrid(theta, np.array(sizes), align_corners=align)
        return np.sum(grid**2 * np.arange(1.0, 7.0).reshape(1, 2, 3, 1))

    theta = np.random.default_rng(0).standard_normal((count, 2, 3))
    value, slope = sdgrad.value_and_grad(weighted)(theta)
    given = torch.tensor(theta, requires_grad=True)
    grid = torch.nn.functional.affine_grid(given, sizes, align_corners=bool(align))
    wanted = (grid**2 * torch.arange(1.0, 7.0, dtype=torch.float64).reshape(1, 2, 3, 1)).sum()
    wanted.backward()
    np.testing.assert_allclose(value, wanted.item())
    np.testing.assert_allclose(slope, given.grad.numpy())
