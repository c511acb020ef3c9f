"""NumPy's functions by those of PyTorch, and what a user of PyTorch writes otherwise."""

import math
from types import SimpleNamespace

import torch

from benchmarks.gradbench.in_lists import lstm as lstm


def array(nest):
    """A tensor of nested lists of numbers and tensors."""
    if isinstance(nest, list):
        return torch.stack([array(part) for part in nest])
    return torch.as_tensor(nest, dtype=torch.float64)


def largest(x, axis=(), keepdims=False):
    return torch.amax(x, dim=axis, keepdim=keepdims)


def smallest(x, axis=(), keepdims=False):
    return torch.amin(x, dim=axis, keepdim=keepdims)


NUMPY = SimpleNamespace(
    arange=torch.arange,
    array=array,
    concatenate=lambda parts, axis=0: torch.cat(parts, dim=axis),
    cos=torch.cos,
    cross=lambda a, b: torch.linalg.cross(a, b, dim=-1),
    einsum=torch.einsum,
    exp=torch.exp,
    log=lambda x: torch.log(x) if isinstance(x, torch.Tensor) else math.log(x),
    max=largest,
    min=smallest,
    newaxis=None,
    pi=math.pi,
    prod=lambda x, axis: torch.prod(x, dim=axis),
    reshape=lambda x, shape: x.reshape(shape),
    sign=torch.sign,
    sin=torch.sin,
    sqrt=lambda x: torch.sqrt(x) if isinstance(x, torch.Tensor) else math.sqrt(x),
    stack=lambda parts, axis=0: torch.stack(parts, dim=axis),
    sum=lambda x, axis=(), keepdims=False: torch.sum(x, dim=axis, keepdim=keepdims),
    tanh=torch.tanh,
    triu_indices=lambda n, k: torch.triu_indices(n, n, k),
    where=torch.where,
    zeros=lambda shape: torch.zeros(shape, dtype=torch.float64),
)


def ba(m):
    of_one = torch.func.vmap(torch.func.jacrev(m.reprojection, (0, 1, 2)))
    return {"ba": lambda cameras, points, w, by, of, features: of_one(cameras[by], points[of], w, features)}


def gmm(m):
    """The gamma function without SciPy, into which ``torch.compile`` does not look."""

    def multigammaln(a, d):
        return 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(a - 0.5 * j) for j in range(d))

    m.multigammaln = multigammaln
    return {}


def ht(m):
    def angles_of(pose):
        fingers, zero = pose[6:].reshape(5, 4), pose.new_zeros(5)
        bends = torch.stack([fingers[:, 0], fingers[:, 2], fingers[:, 3], zero], dim=1).reshape(-1)
        spread = torch.stack([fingers[:, 1], zero, zero, zero], dim=1).reshape(-1)
        fingers = torch.stack([bends, spread, torch.zeros_like(bends)], dim=1)
        return torch.cat([pose.new_zeros((2, 3)), fingers])

    m.angles_of = angles_of
    return {}


def kmeans(m):
    def derivative(points, centroids):
        gradient = torch.func.grad(m.kmeans, 1)
        return torch.func.jvp(lambda c: gradient(points, c), (centroids,), (torch.ones_like(centroids),))

    return {"kmeans": derivative}


def slope_of(function, x):
    """The gradient of a function at a point, which may be differentiated again."""
    with torch.enable_grad():
        x = x if x.requires_grad else x.detach().requires_grad_()
        return torch.autograd.grad(function(x), x, create_graph=True)[0]


def particle(m):
    m.slope = lambda x, w: slope_of(lambda x: m.potential(x, w), x)
    return {}


def saddle(m):
    m.slope = lambda x, y: slope_of(lambda y: m.function(x, y), y)
    return {}
