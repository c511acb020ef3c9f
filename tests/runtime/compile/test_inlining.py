"""Functions of generated code that are called in one place become a part of it."""

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.runtime.compile import build
from sdgrad.runtime.compile.inlining import INLINE, inlined

ONCE = "inline void body_0(int i) {\n}\nvoid whole() {\n    body_0(1);\n}\n"


def test_one_call():
    assert inlined(ONCE) == f"static {INLINE} {ONCE}"


@pytest.mark.parametrize(
    "code",
    [
        ONCE.replace("body_0(1);", "body_0(1);\n    body_0(2);"),  # it would be there twice
        ONCE.replace("inline void", "void"),
        ONCE.replace("inline void", "    inline void"),  # in a class
    ],
)
def test_what_stays(code):
    assert inlined(code) == code


KERNEL = np.linspace(-1.0, 1.0, 7)


def test_programs_have_no_functions_of_elements(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(build, "inlined", lambda code: seen.append(inlined(code)) or seen[-1])
    x = np.random.default_rng(0).standard_normal(50)
    with config.override(cache_dir=str(tmp_path)):
        found = sdgrad.grad(lambda x: np.sum(np.convolve(x, KERNEL, "same") ** 2))(x)
    assert any(INLINE in code for code in seen)
    assert not any(line.startswith("inline void") for code in seen for line in code.splitlines())
    smooth = np.convolve(x, KERNEL, "same")
    assert np.allclose(found, 2.0 * np.correlate(smooth, KERNEL, "same"), rtol=1e-12, atol=1e-13)
