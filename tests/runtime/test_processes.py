"""Processes and threads that compile one program at once, and processes that are killed while they compile."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")

HEAD = """
import json, os, random, signal, sys, threading, time, warnings
import numpy as np
import sdgrad
from sdgrad.config import config

warnings.simplefilter("ignore")
config.optimization_level = 0
X = np.linspace(0.2, 0.9, 7)


def made(factor, name):
    def f(x):
        for _ in range(3):
            x[1:-1] += factor * np.sin(x[2:] - 2.0 * x[1:-1] + x[:-2])
        return np.sum(x**2)

    f.__name__ = name
    return f


def slope(f):
    steps = 1e-30j * np.eye(X.size)
    return [float(f(X + s).imag / 1e-30) for s in steps]


def right(f):
    return bool(np.allclose(sdgrad.grad(f)(X), slope(f), rtol=1e-12))


def forked(work):
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return child


def ended(child):
    return os.waitpid(child, 0)[1]


def files(pattern):
    return len([*config.cache_folder.glob(pattern)])
"""


def ran(text: str) -> dict:
    """What a program prints, in a process without threads of its own: it forks."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    whole = f"{HEAD}\n{textwrap.dedent(text)}\nprint(json.dumps(told))"
    done = subprocess.run([sys.executable, "-c", whole], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_one_program_for_all_who_ask_at_once():
    told = ran("""
        f = made(0.1, "at_once")

        def in_threads():
            found = []
            threads = [threading.Thread(target=lambda: found.append(right(f))) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            return found == [True] * 4

        told = {"ended": [*map(ended, [forked(in_threads) for _ in range(4)])], "made": files("at_once_*/*.so")}
    """)
    assert told == {"ended": [0] * 4, "made": 1}


def test_processes_that_are_killed_leave_nothing_that_harms():
    """Ten kills; a hundred were tried, with fresh caches among them."""
    told = ran("""
        moments, whole = random.Random(3), 1.0
        told = {"kills": 0, "failures": 0}
        for k in range(5):
            f = made(0.2 + 0.01 * k, "killed")
            for _ in range(2):
                child = forked(lambda: right(f))
                time.sleep(moments.uniform(0.0, whole))
                os.kill(child, signal.SIGKILL)
                told["kills"] += os.WIFSIGNALED(ended(child))
            start = time.perf_counter()
            told["failures"] += ended(forked(lambda: right(f))) != 0
            whole = min(max(time.perf_counter() - start, 0.2), 5.0)
        told["left"] = files("killed_*/*.part")
    """)
    assert told["kills"] and told["failures"] == told["left"] == 0
