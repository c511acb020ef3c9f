"""Large programs as several files: each function is in one of them, and they compute the same."""

import re

import numpy as np
import pytest
from dace.config import Config as DaceConfig
from dace.config import temporary_config
from fresh_cache import without_programs

import sdgrad
from sdgrad.config import config
from sdgrad.program import outlining
from sdgrad.runtime.compile import build, translation_units
from sdgrad.runtime.compile.translation_units import divided


def part(name, lines, how="static"):
    body = "".join(f"    x[{k}] = {k};\n" for k in range(lines))
    return f"#ifndef PART_{name}\n#define PART_{name}\n{how} void part_{name}(double* x)\n{{\n{body}}}\n#endif\n"


BEFORE, BEHIND = "#include <dace/dace.h>\n", "void program(double* x)\n{\n    part_A(x);\n}\n"
INLINE = part("I", 3, "static __attribute__((always_inline)) inline")


def test_small_programs_are_one_file():
    code = BEFORE + part("A", 100) + part("B", 100) + BEHIND
    assert divided(code) == [code]


def test_functions_are_shared_out():
    names = "ABCDE"
    code = BEFORE + part("A", 300) + INLINE + "".join(part(n, 300, "static") for n in names[1:]) + BEHIND
    files = divided(code)
    assert len(files) == 3  # of 400 lines at least
    assert [f.endswith(BEHIND) for f in files] == [True, False, False]
    assert all(f.startswith(BEFORE) and INLINE in f for f in files)
    for name in names:
        assert sum(f"#define PART_{name}\n" in f for f in files) == 1
        assert all(len(re.findall(rf'hidden"\)\)\) void part_{name}\(double\* x\);', f)) == 1 for f in files)
    assert max(f.count("\n") for f in files) < 750 and not any("static void" in f for f in files)


def waves(u, v):
    for k in range(1, u.shape[0] - 1):
        u[k] = u[k] * v[k - 1] + 0.1 * u[k + 1]
    for k in range(2, v.shape[0]):
        v[k] = np.sin(v[k]) * u[k - 2] + v[k - 1]
    w = u * v
    for k in range(3):
        w = np.roll(w, 1) * u + np.cos(v)
    return w


@pytest.fixture
def files(monkeypatch, tmp_path):
    """Divide small programs as well; the files that each program has."""
    found = []
    compiled = build.make_library

    def counted(options, sources, *others):
        found.append(len(sources))
        return compiled(options, sources, *others)

    monkeypatch.setattr(build, "make_library", counted)
    monkeypatch.setattr(translation_units, "LINES", 20)
    monkeypatch.setattr(outlining, "LARGE", 10)
    monkeypatch.setattr(outlining, "PIECE", 5)
    with config.override(cache_dir=without_programs(tmp_path)):
        yield found


def test_a_gradient_of_several_files(files):
    u, v = np.random.default_rng(0).random((2, 9))
    found = sdgrad.grad(lambda u, v: np.sum(waves(u, v) ** 2), wrt=(0, 1))(u.copy(), v.copy())
    assert len(files) == 1 and files[0] > 1
    h = 1e-6
    for k, gradient in enumerate(found):
        for i in range(9):
            ahead, behind = [u.copy(), v.copy()], [u.copy(), v.copy()]
            ahead[k][i] += h
            behind[k][i] -= h
            slope = (np.sum(waves(*ahead) ** 2) - np.sum(waves(*behind) ** 2)) / (2 * h)
            np.testing.assert_allclose(gradient[i], slope, rtol=1e-6, atol=1e-8)


def test_halves_in_one_library(files):
    """The forward and the backward program share functions, and each has files."""
    u, v = np.random.default_rng(0).random((2, 9))
    value, pullback = sdgrad.vjp(waves, u.copy(), v.copy())
    of_u, of_v = pullback(np.ones(9))
    assert len(files) == 1 and files[0] > 2
    np.testing.assert_allclose(value, waves(u.copy(), v.copy()), rtol=1e-14)
    wanted = sdgrad.grad(lambda u, v: np.sum(waves(u, v)), wrt=(0, 1))(u.copy(), v.copy())
    np.testing.assert_allclose(of_u, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(of_v, wanted[1], rtol=1e-12)


def test_all_files_have_the_settings_of_the_thread_that_compiles(files, monkeypatch):
    """Those of DaCe's configuration, of which each thread has its own."""
    commands = []
    run = build.run
    monkeypatch.setattr(build, "run", lambda command, *others: (commands.append(command), run(command, *others))[1])
    with temporary_config():
        DaceConfig.set("compiler", "cpu", "args", value=f"{DaceConfig.get('compiler', 'cpu', 'args')} -DOWN_SETTING")
        sdgrad.grad(lambda u: np.sum(waves(u, np.cos(u))))(np.linspace(0.1, 0.9, 9))
    assert len(commands) > 2 and all("-DOWN_SETTING" in command for command in commands)
