"""Loops and conditions that stand in each other more often than Python's own blocks may."""

import linecache

import numpy as np
import pytest

import sdgrad


def made(source, name="f"):
    """Return a function of a source, which is kept where tracebacks look for it."""
    file = f"<{hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"np": np, "STEP": 0.5}
    exec(compile(source, file, "exec"), space)
    return space[name]


def chain(n, arm, last):
    lines = [f"    {'elif' if k else 'if'} x < {k}.5:\n        {arm.format(k=k)}\n" for k in range(n)]
    return "def f(x):\n    scale = 3.0\n" + "".join(lines) + last


RETURNS = [f"    if x < {k}.5:\n        return x**2 * {k}\n" for k in range(25)]
PARTS = "y = sum(x * STEP * j for j in range({k})) if (w := {k}) else x"
CHAINS = {
    "returns": "".join(["def f(x):\n", *RETURNS, "    return x\n"]),
    "bound names": chain(25, "part = x * {k}; y = part * x", "    else:\n        y = x\n    return y * scale\n"),
    "walrus": chain(25, PARTS, "    else:\n        y, w = x, 1.0\n    return y * w\n"),
}


@pytest.mark.parametrize("case", CHAINS)
def test_long_chains(case):
    f = made(CHAINS[case])
    gradient = sdgrad.grad(f)
    for x in (0.2, 7.1, 23.4, 40.0):
        assert abs(gradient(x) - (f(x + 1e-6) - f(x - 1e-6)) / 2e-6) < 1e-6 * max(1.0, abs(gradient(x)))


def test_many_loops_in_each_other():
    names = "abcdefghijkl"
    lines = ["def f(x):\n    total, found = 0.0, []\n"]
    for depth, name in enumerate(names):
        lines.append("    " * (depth + 1) + f"for {name} in range({1 + depth % 2}):\n")
    body = "    " * (len(names) + 1)
    lines += [f"{body}if x[l] > 0.5:\n{body}    if l == 1 and b:\n{body}        continue\n"]
    lines += [
        f"{body}    total = total + x[l] * x[b]\n{body}else:\n{body}    step = np.sin(x[l])\n{body}    total += step\n"
    ]
    lines += [f"{body}last = l\n", "    return total * x[last]\n"]
    f, x = made("".join(lines)), np.array([0.3, 0.8])
    differences = [(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(sdgrad.grad(f)(x), differences, rtol=1e-6)


def test_what_is_bound_outside_of_the_function():
    source = (
        "def outer(x):\n    count = 0.0\n    def f():\n        nonlocal count\n        global SEEN\n        d = 1.0\n"
    )
    for depth in range(12):
        source += "    " * (depth + 2) + f"if x > {depth}.0:\n"
    deep = "    " * 14
    source += f"{deep}count = x * 2\n{deep}SEEN = 4\n{deep}d = x\n{deep}del d\n{deep}d = count * x\n"
    source += "        return d\n    return f() * (1 + count) + SEEN\nSEEN = 3\n"
    outer = made(source, "outer")
    for x in (20.0, 5.0):
        assert abs(sdgrad.grad(outer)(x) - (outer(x + 1e-6) - outer(x - 1e-6)) / 2e-6) < 1e-4


def test_errors_show_the_line():
    source = "def f(x):\n" + "".join("    " * (k + 1) + f"if x[0] > {k}.0:\n" for k in range(15))
    f = made(source + "    " * 16 + "return float(str(x[0]))\n    return x[0]\n")
    with pytest.raises(sdgrad.errors.ParseError, match=r"return float\(str\(x\[0\]\)\)"):
        sdgrad.grad(f)(np.ones(2))
