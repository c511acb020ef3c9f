"""The linker that is chosen works with the compiler."""

import shutil

import numpy as np
import pytest

import sdgrad
from sdgrad.runtime.compile.fast_linker import CHOICES, fast_linker


@pytest.fixture
def compiler_without(tmp_path, monkeypatch):
    """Return a function that makes a compiler which cannot use some linkers, as one in a folder of its own may not."""

    def make(*names):
        script = tmp_path / "g++"
        refused = "|".join(f"*-fuse-ld={n}*" for n in names)
        script.write_text(
            f'#!/bin/sh\ncase "$*" in {refused}) echo "error: no libstdc++" >&2; exit 1;; esac\nexec {own} "$@"\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("CXX", str(script))

    own = shutil.which("g++")
    fast_linker.cache_clear()
    with sdgrad.config.override(cache_dir=tmp_path / "cache"):
        yield make
    fast_linker.cache_clear()


def test_a_linker_that_fails_is_not_used(compiler_without):
    compiler_without(*CHOICES)
    assert fast_linker() == ()
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(sdgrad.grad(lambda x: np.sum(x * x))(x), 2 * x)


@pytest.mark.skipif(shutil.which("ld.gold") is None, reason="needs gold")
def test_the_first_that_works_is_used(compiler_without):
    compiler_without("none")
    assert fast_linker() == ("-fuse-ld=gold",)
