"""Settings of all tests: one thread per worker, and compiled programs shared by the workers of a run."""

import gc
import itertools
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version

CACHE = "SDGRAD_CACHE_DIR"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

os.environ.update(dict.fromkeys(THREADS, "1"), JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu")
# JAX compiles every operation of a reference for itself: half of its time goes into making them fast
QUICK = ["--xla_backend_optimization_level=0"]
if version("jaxlib").startswith("0.10."):  # a flag that XLA does not know ends the process
    QUICK.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(QUICK))
_made_here = CACHE not in os.environ
if _made_here:
    os.environ[CACHE] = tempfile.mkdtemp(prefix="sdgrad_tests_")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import races  # noqa: E402

from sdgrad.config import config  # noqa: E402
from sdgrad.specialize import signature  # noqa: E402

races.watch()

MODULES = itertools.count()
OWN_SETTINGS = {"test_config"}  # modules that test the settings themselves


@pytest.fixture(autouse=True)
def quick_builds(request):
    """No optimization by the compiler, and the cache of this run; set the variable to keep one for the next."""
    if request.module.__name__.rpartition(".")[2] in OWN_SETTINGS:
        yield
        return
    with config.override(optimization_level=0, cache_dir=os.environ[CACHE]):
        yield


@pytest.fixture(autouse=True, scope="module")
def forgotten():
    """The programs of one module are of no use to the next; the collector need not look through what stays of it."""
    yield
    for known in (signature._signatures, signature._fixed, signature._fits):
        known.clear()
    if "jax" in sys.modules and not next(MODULES) % 5:  # a gigabyte in a hundred Hessians; operators are compiled again
        sys.modules["jax"].clear_caches()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_numbers(request, monkeypatch):
    """The random numbers of a test do not depend on the tests before it."""
    if hasattr(request.module, "RNG"):
        monkeypatch.setattr(request.module, "RNG", np.random.default_rng(5))


def pytest_collection_finish():
    """The collector need not look through the objects of all imported libraries again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 200, 50)


def pytest_sessionfinish(session):
    """Remove the cache if this process made it: xdist's workers inherit the variable and leave it alone."""
    if _made_here:  # thousands of files, for which nobody waits
        subprocess.Popen(["rm", "-rf", os.environ[CACHE]], start_new_session=True)
