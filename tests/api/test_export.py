"""Gradient programs that are saved, loaded and called from C."""

import ctypes
import enum
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import ArgumentError

RNG = np.random.default_rng(2)
WEIGHTS = RNG.standard_normal((3, 3))
X = RNG.standard_normal((4, 3))


def loss(x, scale, n):
    h = x * 1.0
    for _ in range(n):
        h = np.tanh(h @ WEIGHTS) * scale
    return np.sum(h * h)


def test_saved_and_loaded(tmp_path, monkeypatch):
    """What is loaded is called without a compiler, in another process as well."""
    program = sdgrad.compile_gradient(loss, X, 0.7, 3, wrt=(0, "scale"))
    value, gradients = sdgrad.value_and_grad(loss, wrt=(0, "scale"))(X, 0.7, 3)
    path = program.save(tmp_path / "loss.sdgrad")
    monkeypatch.setenv("CXX", "no-such-compiler")
    for p in (program, sdgrad.load(path)):
        again, found = p(X, 0.7, n=3)
        assert again == value
        assert all(np.array_equal(a, b) for a, b in zip(found, gradients, strict=True))
    script = (
        "import sys, numpy as np, sdgrad\n"
        "value, (gx, gs) = sdgrad.load(sys.argv[1])(np.load(sys.argv[2]), 0.7, 3)\n"
        "np.savez(sys.argv[3], value=value, gx=gx, gs=gs)\n"
    )
    np.save(tmp_path / "x.npy", X)
    files = [path, tmp_path / "x.npy", tmp_path / "out.npz"]
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, files)]
    environment = {**os.environ, "PYTHONPATH": str(Path(sdgrad.__file__).parents[1])}
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environment)
    with np.load(tmp_path / "out.npz") as out:
        assert out["value"] == value and np.array_equal(out["gx"], gradients[0]) and out["gs"] == gradients[1]


def by_labels(x, labels, count, power=2.0, kind="sum"):
    rows = [x]
    for _ in range(count):
        rows.append(np.sin(rows[-1]))
    total = sum(np.sum(r) for r in rows) * power
    return total if kind == "sum" else total / len(np.unique(labels))


LABELS = np.array([0, 1, 1, 0])
OTHERS = {
    "argument 'labels' was array.* and is array": {"labels": LABELS + np.arange(4)},
    "argument 'count' was 2 when this program was compiled, and is 3: compile another": {"count": 3},
    "argument 'kind' was 'mean' when .* and is 'sum'": {"kind": "sum"},
    "'power': the program takes float64 there, found a complex number": {"power": 1j},
}


def test_what_is_a_part_of_the_program(tmp_path):
    """Arguments that decide what is computed had been ignored in later calls, and defaults were missing."""
    x, given = X[0], {"labels": LABELS[:3], "count": 2, "kind": "mean"}
    program = sdgrad.compile_gradient(by_labels, x, **given)
    for p in (program, sdgrad.load(program.save(tmp_path / "f.sdgrad"))):
        for power in ({}, {"power": 3.0}, {"power": 3}):
            value, gradient = sdgrad.value_and_grad(by_labels)(x, **given, **power)
            for parts in (given, {}):
                again, found = p(x, **parts, **power)
                assert again == value and np.array_equal(found, gradient)
        for told, other in OTHERS.items():
            other = {n: v[:3] if n == "labels" else v for n, v in other.items()}
            with pytest.raises(ArgumentError, match=told):
                p(x, **{**given, **other})
    header = sdgrad.export_c(by_labels, tmp_path / "c", x, **given).read_text()
    assert "Compiled for labels = array([0, 1, 1]), count = 2, kind = 'mean'" in header


def leading(x, n, of=np.sin):
    return np.sum(of(x[:n]))


def test_slices_and_functions_that_were_compiled_for(tmp_path):
    program = sdgrad.compile_gradient(leading, X[0], 2)
    loaded = sdgrad.load(program.save(tmp_path / "f.sdgrad"))
    for p in (program, loaded):
        for n in (0, 1, 3):
            assert p(X[0], n)[0] == sdgrad.value_and_grad(leading)(X[0], n)[0]
        for n in (-1, 4):
            with pytest.raises(ArgumentError, match="compiled for slices that fit, and those by n do not"):
                p(X[0], n)
    assert program(X[0], 2, np.sin)[0] == program(X[0], 2)[0]
    with pytest.raises(ArgumentError, match="argument 'of' was <ufunc 'sin'> when"):
        program(X[0], 2, np.cos)
    with pytest.raises(ArgumentError, match="argument 'of' was saved with the program, as <ufunc 'sin'>: leave it out"):
        loaded(X[0], 2, np.sin)


class Sign(enum.IntEnum):
    PLUS = 1
    MINUS = 2


def signed(x, sign):
    return np.sum(x) if sign is Sign.PLUS else -np.sum(x)


def test_members_are_a_part_of_the_program():
    """They are integers, and had been ignored as numbers that the program does not take."""
    program = sdgrad.compile_gradient(signed, X[0], Sign.PLUS)
    assert program(X[0], Sign.PLUS)[0] == program(X[0])[0]
    with pytest.raises(ArgumentError, match="argument 'sign' was <Sign.PLUS: 1> when"):
        program(X[0], Sign.MINUS)


def times(x, n=2):
    return np.sum(x * n)


def test_numbers_lose_nothing():
    """An integer's place took the whole part of what it was given."""
    program = sdgrad.compile_gradient(times, X[0])
    assert np.isclose(program(X[0], 3)[0], 3 * np.sum(X[0]), rtol=1e-12)
    with pytest.raises(ArgumentError, match="'n': the program takes int64 there, found a floating-point number: 2.5"):
        program(X[0], 2.5)


C_PROGRAM = r"""
#include <stdio.h>
#include "loss.h"

int main(void) {
    double x[12], w[9], value = 0, gradient[12];
    for (int k = 0; k < 12; ++k) scanf("%lf", &x[k]);
    for (int k = 0; k < 9; ++k) scanf("%lf", &w[k]);
    for (int repetition = 0; repetition < 2; ++repetition) {
        loss(PRIMAL);
        printf("%.17g\n", value);
        loss_value_and_grad(GRADIENT);
        printf("%.17g\n", value);
        for (int k = 0; k < 12; ++k) printf("%.17g\n", gradient[k]);
    }
    return 0;
}
"""


def test_called_from_c(tmp_path):
    header = sdgrad.export_c(loss, tmp_path, X, 0.7, 3)
    text = header.read_text()
    values = {"x": "x", "scale": "0.7", "n": "3", "value": "&value", "gradient_x": "gradient"}

    def call(function):
        declared = text.split(f"void {function}(")[1].split(")")[0].split(", ")
        return ", ".join(values.get(p.split()[-1].lstrip("*"), "w") for p in declared)

    source = tmp_path / "main.c"
    text_of_main = C_PROGRAM.replace("PRIMAL", call("loss")).replace("GRADIENT", call("loss_value_and_grad"))
    source.write_text(text_of_main)
    library = [f"-L{tmp_path}", "-lloss", f"-Wl,-rpath,{tmp_path}", "-lm"]
    subprocess.run(["cc", "-Wall", "-Werror", str(source), "-o", str(tmp_path / "main"), *library], check=True)
    given = " ".join(f"{v:.17g}" for v in (*X.ravel(), *WEIGHTS.ravel()))
    done = subprocess.run([str(tmp_path / "main")], input=given, capture_output=True, text=True, check=True)
    found = np.array(done.stdout.split(), float).reshape(2, 14)
    value, gradient = sdgrad.value_and_grad(loss)(X, 0.7, 3)
    for row in found:
        assert_close(row[:2], [value, value], 1e-15, "value")
        assert_close(row[2:], gradient.ravel(), 1e-15, "gradient")


def halves(x):
    return np.sum(x * x)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda p: p(X), "argument 'scale' is missing"),
        (lambda p: p(X, 0.7, 3, 4), "takes x, scale, n, found 4 arguments"),
        (lambda p: p(X, 0.7, m=3), "found argument 'm'"),
        (lambda p: p(X[:2], 0.7, 3), r"expected shape \(4, 3\), found \(2, 3\)"),
        (lambda p: p(X.astype("f4"), 0.7, 3), "expected a float64 array"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(ArgumentError, match=message):
        call(sdgrad.compile_gradient(loss, X, 0.7, 3))


def test_nests_are_refused():
    def f(p, x):
        return np.sum(p["w"] * x)

    for wrt in (0, 1):
        with pytest.raises(ArgumentError, match="'p' is a dict"):
            sdgrad.compile_gradient(f, {"w": X}, X, wrt=wrt)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "nothing"
    path.write_text("nothing")
    with pytest.raises(ArgumentError, match="is no saved gradient program"):
        sdgrad.load(path)
    with pytest.raises(ArgumentError, match="float16, which C has no type for|which C has no type for"):
        sdgrad.export_c(halves, tmp_path, np.ones(3, np.float16))


def test_index_arrays_of_a_saved_program_are_checked(tmp_path):
    def picked(x, i):
        return np.sum(x[i] ** 3)

    x = np.arange(4.0)
    made = sdgrad.compile_gradient(picked, x, np.array([0, 1, -1]))
    for program in (made, sdgrad.load(made.save(tmp_path / "picked.sdgrad"))):
        assert program(x, np.array([0, 3, -4]))[1].tolist() == [0.0, 0.0, 0.0, 27.0]
        for wrong in ([0, 4, 1], [0, 1, -5]):
            with pytest.raises(IndexError, match="'i' is out of bounds for axis 0 with size 4"):
                program(x, np.array(wrong))


class Missed(Exception):
    """An exception that another process does not know."""


def checked(x, i):
    assert np.sum(x) > 0.0, "not positive"
    if x[0] > 100.0:
        raise Missed("too large")
    return np.sum(x[i + 1] ** 3)


def test_checks_of_a_saved_program(tmp_path):
    """Saving lost them: the program that was saved could not be called."""
    x, i = np.arange(4.0), np.array([0, 2])
    made = sdgrad.compile_gradient(checked, x, i)
    loaded = sdgrad.load(made.save(tmp_path / "checked.sdgrad"))
    for program, missed in ((made, Missed), (loaded, RuntimeError)):
        assert program(x, i)[1].tolist() == [0.0, 3.0, 0.0, 27.0]
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 4"):
            program(x, np.array([0, 3]))
        with pytest.raises(AssertionError, match="^not positive$"):
            program(-x, i)
        with pytest.raises(missed, match="too large"):
            program(x + 200.0, i)


def test_checks_of_an_exported_program_are_numbers(tmp_path):
    x, i = np.arange(4.0), np.array([0, 2])
    text = sdgrad.export_c(checked, tmp_path, x, i).read_text()
    assert text.count("2147483647: AssertionError not positive") == text.count("2147483646: Missed too large") == 2
    library = ctypes.CDLL(str(tmp_path / "libchecked.so"))
    order = [p.split()[-1].lstrip("*") for p in text.split("void checked(")[1].split(")")[0].split(", ")]
    for given, number in ((x, 0), (-x, 2**31 - 1), (x + 200.0, 2**31 - 2)):
        passed = {"x": given.copy(), "i": i, "sdgrad_status": np.zeros(1, np.int64), "value": np.zeros(1)}
        library.checked(*(ctypes.c_void_p(passed[n].ctypes.data) for n in order))
        assert passed["sdgrad_status"][0] == number
