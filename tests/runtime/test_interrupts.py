"""Ctrl-C ends a long call within a second, frees what it had, and leaves other threads and handlers alone."""

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import dace
import numpy as np
import pytest
from fresh_cache import without_programs
from treetext import program

import sdgrad
from sdgrad.config import config
from sdgrad.program.emit import Emitter
from sdgrad.program.interrupts import POLL
from sdgrad.program.outlining import Outliner

TESTS = Path(__file__).parents[1]


def ran(text: str) -> dict:
    """What a program prints in a process of its own: workers of pytest do not hear of the signal."""
    path = os.pathsep.join([str(TESTS), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "SDGRAD_OPTIMIZATION_LEVEL": "0"}
    whole = f"import json\nfrom long_calls import *\n{textwrap.dedent(text)}\nprint(json.dumps(told))"
    done = subprocess.run([sys.executable, "-c", whole], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_long_calls_end_and_the_next_one_is_right():
    told = ran("""
        forward = sdgrad.compile_forward(settle)
        forward(np.array([1.1e-300]))
        of_products = sdgrad.grad(products)
        of_products(M, 2)
        told = {
            "steps": interrupted(gradient, X.copy(), STEPS),
            "settle": interrupted(forward, np.ones(1)),
            "products": interrupted(of_products, M, 20_000),
            "prepared": [interrupted(gradient, X.copy(), STEPS) for _ in range(2)],
        }
        told["right"] = bool(np.array_equal(gradient(X.copy(), 3), right))
    """)
    times = [told["steps"], told["settle"], told["products"], *told["prepared"]]
    assert None not in times and max(times) < 1.0
    assert told["right"]


def test_a_compiler_is_not_waited_for(tmp_path):
    (tmp_path / "compiler").write_text('#!/bin/sh\ncase "$*" in *--version*) exec c++ "$@";; esac\nsleep 60\n')
    (tmp_path / "compiler").chmod(0o755)
    told = ran(f"""
        import os

        def cubes(x):
            return np.sum(x**3)

        os.environ["CXX"] = {str(tmp_path / "compiler")!r}
        told = {{"ended": interrupted(sdgrad.grad(cubes), X, after=2.0)}}
        del os.environ["CXX"]
        told["right"] = bool(np.allclose(sdgrad.grad(cubes)(X), 3.0 * X**2))
    """)
    assert told["ended"] is not None and told["ended"] < 1.0
    assert told["right"]


def test_what_a_call_had_is_freed():
    told = ran("""
        limited = sdgrad.grad(steps, memory_limit="4MB", disk_limit="2GiB")
        limited(X.copy(), 400)
        sizes = []
        for _ in range(4):
            assert interrupted(gradient, X.copy(), STEPS, after=0.2) is not None
            sizes.append(memory())
        ended = interrupted(limited, X.copy(), 400, after=0.1)
        told = {"sizes": sizes, "files": sum("/var/tmp" in line for line in open("/proc/self/maps"))}
    """)
    assert max(told["sizes"][1:]) - told["sizes"][0] < 20_000  # kB; each call has 100 MB and more
    assert told["files"] == 0


def test_handlers_of_users_run_when_the_call_is_done():
    told = ran("""
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(time.perf_counter()))
        interrupt(0.1)
        found = gradient(X.copy(), 1000)
        while not heard:
            pass
        signal.signal(signal.SIGINT, signal.default_int_handler)
        again = interrupted(gradient, X.copy(), STEPS)
        told = {"finite": bool(np.isfinite(found).all()), "heard": len(heard), "again": again}
    """)
    assert told["finite"] and told["heard"] == 1
    assert told["again"] is not None and told["again"] < 1.0


def test_other_threads_go_on():
    told = ran("""
        from concurrent.futures import ThreadPoolExecutor
        whole = gradient(X.copy(), 2000)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(gradient, X.copy(), 2000)
            interrupt(0.1)
            main = False
            try:
                while not future.done():
                    time.sleep(0.01)
            except KeyboardInterrupt:
                main = True
            told = {"main": main, "same": bool(np.array_equal(future.result(), whole))}
    """)
    assert told == {"main": True, "same": True}


def test_a_signal_of_before_ends_no_call():
    told = ran("""
        try:
            interrupt(0.0)
            time.sleep(1.0)
        except KeyboardInterrupt:
            pass
        told = {"right": bool(np.array_equal(gradient(X.copy(), 3), right))}
    """)
    assert told["right"]


def flat(x):
    return np.sum(np.sin(x) * x)


def stepped(x, n):
    for _ in range(n):
        x[:] = np.sin(x)
    return np.sum(x)


def solved(x, n):
    y = x
    for _ in range(n):
        y = np.linalg.solve(np.eye(7) + np.outer(y, x), x)
    return np.sum(y)


def short(x):
    for _ in range(3):
        x[:] = np.sin(x)
    return np.sum(x)


@pytest.mark.parametrize(
    "f, args, asks", [(flat, (), False), (stepped, (5,), True), (solved, (5,), True), (short, (), False)]
)
def test_which_programs_ask(f, args, asks, tmp_path):
    with config.override(cache_dir=without_programs(tmp_path)):
        sdgrad.grad(f)(np.ones(7), *args)
    code = "".join(p.read_text() for p in tmp_path.rglob("*.cpp"))
    assert f.__name__ in code and (POLL in code) == asks


ROWS = """
argument x: float64[8]
argument r: float64[8]
body
  scope i=0:4:
    loop k = 0 .. 100000 step 1:
      map j=0:2:
        v = x[2*i + j]
        u = sin(v)
        r[2*i + j] += u
"""


@pytest.mark.parametrize("sequential", [False, True])
def test_no_exception_leaves_threads_that_share_work(sequential):
    """Where DaCe writes the map, functions of what is in it do not ask."""
    tree = program(ROWS)
    scope = replace(tree.body[0], sequential=sequential)
    emitter = Emitter(tree, dace.SDFG("rows"), outliner=Outliner(tree))
    inner = emitter.nested_sdfg(scope)
    assert inner.shared != sequential
    assert (POLL in "".join(inner.outliner.functions)) == sequential
