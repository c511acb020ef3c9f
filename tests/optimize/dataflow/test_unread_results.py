"""Functions of LAPACK of whose results a program reads some."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.linalg
from fresh_cache import without_programs

import sdgrad
from sdgrad.optimize.dataflow import unread_results

A = np.random.default_rng(0).standard_normal((6, 6))


@dataclass
class Seen:
    """The kinds of calls of the programs that the pass leaves."""

    kinds: set


@pytest.fixture
def seen(monkeypatch, tmp_path):
    found = Seen(set())
    call = unread_results._call

    def watched(node, program, read):
        made = call(node, program, read)
        found.kinds.add(getattr(made.node, "kind", ""))
        return made

    monkeypatch.setattr(unread_results, "_call", watched)
    with sdgrad.config.override(cache_dir=without_programs(tmp_path), verify="never"):
        yield found


def values(x):
    stack = np.stack([x, 2.0 * x])
    return np.linalg.svd(stack, compute_uv=False), np.linalg.eigvalsh(x), scipy.linalg.expm(x)


def test_values_alone_are_computed_alone(seen):
    s, w, e = sdgrad.compile_forward(values)(A)
    assert seen.kinds == {"svdvals", "eigvalsh", "expm"}
    assert np.allclose(s, np.linalg.svd(np.stack([A, 2.0 * A]), compute_uv=False), rtol=1e-13, atol=0)
    assert np.allclose(w, np.linalg.eigvalsh(A), rtol=1e-12, atol=1e-13)
    assert np.allclose(e, scipy.linalg.expm(A), rtol=1e-12, atol=1e-13)


def test_gradients_keep_what_they_read(seen):
    found = sdgrad.grad(lambda x: np.sum(np.linalg.svd(x, compute_uv=False)))(A)
    assert "svd" in seen.kinds and "svdvals" not in seen.kinds
    u, _, v = np.linalg.svd(A)
    assert np.allclose(found, u @ v, rtol=0, atol=1e-13)


def test_what_is_returned_is_read(seen):
    assert np.allclose(sdgrad.compile_forward(lambda x: np.linalg.eigh(x)[1] ** 2)(A), np.linalg.eigh(A)[1] ** 2)
    assert seen.kinds == {"eigh"}
