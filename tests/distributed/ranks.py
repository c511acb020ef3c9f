"""Run a module of these tests on several ranks, and collect what rank 0 prints as JSON."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def mpiexec() -> str:
    """The launcher of the environment that the tests run in, or else the system's."""
    own = Path(sys.executable).parent / "mpiexec"
    found = str(own) if own.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec")
    if refusal := _refusal(found):
        pytest.skip(f"MPI does not start on this machine: {refusal}")
    return found


@functools.cache
def _refusal(launcher: str) -> str:
    """Return why not even two ranks that do nothing start: of the machine, and not of what is tested."""
    command = [launcher, "-n", "2", sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-300:]


def run(module: str, ranks: int, *args: str) -> dict[str, dict]:
    """What each case of a module says, by its name."""
    return started(ranks, ["-m", module, *args])


def run_script(path: Path, ranks: int) -> dict[str, dict]:
    """What a script says, by the names in its lines."""
    return started(ranks, [str(path)])


def failed(path: Path, ranks: int, told: str) -> None:
    """Check that a script ends all ranks, soon, and what it says."""
    done = _done(ranks, [str(path)], "mpi4py", 100.0)
    assert done.returncode != 0 and re.search(told, done.stdout + done.stderr), (done.stdout + done.stderr)[-3000:]


def started(ranks: int, arguments: list[str], runner: str = "mpi4py") -> dict[str, dict]:
    """The lines of JSON that ranks print."""
    done = _done(ranks, arguments, runner, 300.0)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line.pop("name"): line for line in lines}


def _done(ranks: int, arguments: list[str], runner: str, seconds: float) -> subprocess.CompletedProcess:
    """The end of a program; the time limit ends a pair that waits for ever."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SDGRAD_PROGRESS": "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-m", runner, *arguments]
    with tempfile.TemporaryDirectory() as folder:  # where DaCe leaves what it compiles
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
