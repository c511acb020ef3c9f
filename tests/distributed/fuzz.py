"""Random programs for several ranks, by seed: all ranks write the same source text, so that no rank waits for nobody.

``python -m mpi4py -m tests.distributed.fuzz --count N --seed S`` under ``mpiexec`` prints a line of JSON for each: the
errors of the value, of both modes to each other, and to differences. ``--keep 0,2`` keeps some of the statements of a
program, and ``--show`` prints it. Ranks that wait for more than ``--seconds`` end with the lines where they are.
"""

import argparse
import faulthandler
import importlib.util
import json
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
from mpi4py import MPI

import sdgrad
from tests.distributed.fuzz_statements import BLOCKS, SINGLE, STATEMENTS

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
N = 12  # elements of a vector: a multiple of the ranks
LIMITS = {"value": 1e-11, "modes": 1e-11, "differences": 1e-6}
COMMUNICATORS = SimpleNamespace(halves=comm.Split(rank % 2, rank), line=comm.Create_cart([size], periods=[False]))
HEADER = """
import numpy as np
from mpi4py import MPI

import sdgrad

comm, N = MPI.COMM_WORLD, 12
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
below, above = line.Shift(0, 1)
second_below, second_above = line.Shift(0, 2)


def f(x):
    u, v, w = x * 1.0, np.cos(x), 0.3 * x
"""


class Writer:
    """Write the statements of a program."""

    def __init__(self, seed: int, ranks: int) -> None:
        self.random, self.ranks, self.fresh = Random(f"{seed} {ranks}"), ranks, 0

    def names(self) -> dict[str, object]:
        """Return what a statement may name: vectors, ranks, tags, operators, parts of a vector, and orders."""
        random = self.random
        self.fresh += 1
        a, b = random.sample("uvw", 2)
        s, d = random.sample(range(self.ranks), 2)
        i, j, length = random.randrange(6), random.randrange(6), random.randint(1, 6)
        cuts = sorted(random.sample(range(1, N), self.ranks - 1))
        counts = [stop - start for start, stop in zip([0, *cuts], [*cuts, N], strict=True)]
        tags = random.sample(range(50), 3)
        vectors = {"a": a, "b": b, "t": f"t{self.fresh}", "k": f"k{self.fresh}", "step": f"step{self.fresh}"}
        parts = {"here": f"{i}:{i + length}", "there": f"{j}:{j + length}", "at": i, "counts": counts}
        orders = {"tags": tags, "received": random.sample(tags, 3), "order": random.sample(range(4), 4)}
        numbers = {"tag": random.randrange(50), "trips": random.randint(2, 4), "c": round(random.uniform(0.2, 0.9), 2)}
        return {"s": s, "d": d, "op": random.choice(("SUM", "MAX", "MIN", "PROD"))} | vectors | parts | orders | numbers

    def statement(self, depth: int = 0) -> str:
        """Return a statement: one with others in it as long as it is not deep."""
        chance = self.random.random()
        if depth < 2 and chance < 0.3:
            bodies = ["\n".join(self.statement(depth + 1) for _ in range(self.random.randint(1, 3))) for _ in range(2)]
            text = self.random.choice(list(BLOCKS.values())).format(**self.names())
            for mark, body in zip(("BODY", "OTHER"), bodies, strict=True):
                text = "\n".join(self._filled(line, mark, body) for line in text.splitlines())
            return text
        chosen = SINGLE if chance > 0.85 else STATEMENTS
        return self.random.choice(list(chosen.values())).format(**self.names()).strip("\n")

    @staticmethod
    def _filled(line: str, mark: str, body: str) -> str:
        return textwrap.indent(body, line[: -len(mark)]) if line.strip() == mark else line


def source(seed: int, ranks: int, keep: list[int] | None = None) -> str:
    """Return the text of a program, or of some of its statements."""
    writer = Writer(seed, ranks)
    statements = [writer.statement() for _ in range(writer.random.randint(2, 7))]
    chosen = statements if keep is None else [statements[k] for k in keep]
    early = writer.random.choice(("", "", "if rank == 0:\n    return u * v + x\n"))
    body = "\n".join(chosen) + "\n" + early + "return u + np.sin(v) * w\n"
    return HEADER.strip() + "\n" + textwrap.indent(body, "    ")


def imported(name: str, text: str, folder: Path) -> Callable:
    """Write a program into a file, and import it: a function is recorded from its source text."""
    path = folder / f"{name}_{rank}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    vars(module).update(vars(COMMUNICATORS))
    spec.loader.exec_module(module)
    return module.f


def summed(value) -> float:
    return float(comm.allreduce(float(value)))


def check(f: Callable, random: np.random.Generator) -> dict[str, float]:
    """Errors of a program: of the value, of both modes to each other, and to differences."""
    x, v, w = (random.normal(size=(size, N))[rank] for _ in range(3))
    plain = f(x)
    found, pull = sdgrad.vjp(f, x)
    (g,) = pull(w)
    pushed, t = sdgrad.jvp(f, (x,), (v,))
    h = 1e-6
    step = (f(x + h * v) - f(x - h * v)) / (2 * h)
    sides = [summed(np.vdot(a, b)) for a, b in ((g, v), (w, t), (w, step))]
    scale = max(1.0, *(abs(side) for side in sides))
    return {
        "value": summed(np.max(np.abs(found - plain)) + np.max(np.abs(pushed - plain))),
        "modes": abs(sides[0] - sides[1]) / scale,
        "differences": abs(sides[0] - sides[2]) / scale,
    }


def passes(errors: dict[str, float]) -> bool:
    return all(errors[name] <= limit for name, limit in LIMITS.items())


def try_program(seed: int, args: argparse.Namespace, folder: Path) -> None:
    """Check one program; a rank that cannot says so and ends the others, who would wait for it."""
    name = f"fuzz_{seed}_{size}"
    text = source(seed, size, args.keep)
    if args.show and rank == 0:
        print(text, flush=True)
    print(f"{name} begins", file=sys.stderr, flush=True)
    faulthandler.dump_traceback_later(args.seconds, exit=True)
    try:
        errors = check(imported(name, text, folder), np.random.default_rng(seed))
    except Exception as error:
        print(json.dumps({"name": name, "rank": rank, "error": f"{type(error).__name__}: {error}"}), flush=True)
        traceback.print_exc()
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()
    if rank == 0:
        print(json.dumps({"name": name, "passes": passes(errors), **errors}), flush=True)


def numbers(text: str) -> list[int]:
    return [int(k) for k in text.split(",")] if text else []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=numbers)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--seconds", type=float, default=120)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.count):
            try_program(seed, args, Path(folder))


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main()
