"""Check many random programs: ``python tests/fuzz/run.py --count 2000 --seed 1 --jobs 1``.

Each program that fails is written to a folder, by the kind of its failure; ``--reduce`` makes the first of each kind
small. ``--replay`` checks such files again.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path[:0] = [str(Path(__file__).resolve().parents[k]) for k in (1, 2)]

from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

from fuzz.check import kind  # noqa: E402
from fuzz.grammar import FEATURES, sample  # noqa: E402
from fuzz.reduce import reduced  # noqa: E402
from fuzz.ways import WAYS  # noqa: E402
from fuzz.workers import Outcome, Worker  # noqa: E402

console = Console()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="how many programs, at most")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other program after so many")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed; the others follow")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--size", type=int, default=12, help="statements in a program, at most")
    parser.add_argument("--without", default="", help=f"constructs to leave out: {','.join(FEATURES)}")
    parser.add_argument("--way", default="function", choices=WAYS, help="how programs are differentiated")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one program")
    parser.add_argument("--level", type=int, default=0, help="optimization level of the compiler")
    parser.add_argument("--out", type=Path, default=Path("fuzz_failures"), help="folder of failing programs")
    parser.add_argument("--reduce", action="store_true", help="make the first program of each kind of failure small")
    parser.add_argument("--replay", type=Path, nargs="*", default=[], help="check these files instead")
    return parser.parse_args()


def named_programs(chosen: argparse.Namespace) -> dict[str, str]:
    """Names and texts of what is checked."""
    if chosen.replay:
        return {path.stem: path.read_text() for path in chosen.replay}
    left_out = set(filter(None, chosen.without.split(",")))
    if unknown := left_out - set(FEATURES):
        raise SystemExit(f"no construct {', '.join(sorted(unknown))}; there are {', '.join(FEATURES)}")
    features = [f for f in FEATURES if f not in left_out]
    return {f"seed_{k}": sample(k, features, chosen.size) for k in range(chosen.seed, chosen.seed + chosen.count)}


class Pool:
    """Workers, one for each thread that asks."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen, self.local, self.workers = chosen, threading.local(), []

    def check(self, program: str, way: str | None = None) -> Outcome:
        if not hasattr(self.local, "worker"):
            self.local.worker = Worker(self.chosen.timeout, self.chosen.level, self.chosen.way)
            self.workers.append(self.local.worker)
        return self.local.worker.check(program, way)

    def outcomes(self, programs: dict[str, str]) -> Iterator[tuple[str, Outcome]]:
        """Names and outcomes, as they come."""
        with ThreadPoolExecutor(self.chosen.jobs) as threads:
            waiting = {
                threads.submit(self.check, text, self.way(k)): name for k, (name, text) in enumerate(programs.items())
            }
            end = time.monotonic() + 60 * self.chosen.minutes
            for done in track(as_completed(waiting), "checking", total=len(waiting), console=console):
                yield waiting[done], done.result()
                if time.monotonic() > end:
                    threads.shutdown(wait=False, cancel_futures=True)
                    break

    def way(self, k: int) -> str:
        """How a program is differentiated: of functions, every tenth one has a limit of memory."""
        return "limited" if self.chosen.way == "function" and k % 10 == 0 else self.chosen.way

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


def write(folder: Path, name: str, program: str, message: str) -> Path:
    """A failing program, under its message."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    comment = "".join(f"# {line}\n" for line in message.splitlines())
    path.write_text(comment + program)
    return path


def small(pool: Pool, programs: dict[str, str], failed: dict[str, Outcome], folder: Path) -> None:
    """Reduce the shortest program of each kind of failure."""
    firsts: dict[str, str] = {}
    for name in sorted(failed, key=lambda n: len(programs[n])):
        firsts.setdefault(kind(failed[name].message), name)
    for which, name in track(firsts.items(), "reducing", console=console):
        way = pool.way(list(programs).index(name))
        text = reduced(programs[name], lambda p, k=which, w=way: fails_as(pool.check(p, w), k))
        outcome = pool.check(text, way)
        console.print(f"[bold]{write(folder / 'reduced', name, text, outcome.message)}[/]")
        console.print(text, outcome.message, markup=False, highlight=False)


def fails_as(outcome: Outcome, which: str) -> bool:
    return outcome.status == "failed" and kind(outcome.message) == which


def report(outcomes: Iterable[Outcome], seconds: float) -> None:
    """Counts, failures by kind, and times."""
    known = list(outcomes)
    table = Table("programs", "failure", title=f"{len(known)} programs in {seconds:.0f} s")
    for which, count in Counter(kind(o.message) for o in known if o.status == "failed").most_common():
        table.add_row(str(count), which)
    console.print(table)
    statuses = Counter(o.status for o in known)
    mean = sum(o.seconds for o in known) / max(len(known), 1)
    console.print(", ".join(f"{statuses[s]} {s}" for s in ("ok", "failed", "unusable")) + f"; {mean:.2f} s each")


def main() -> int:
    """Nonzero where a program failed."""
    chosen = options()
    begin = time.perf_counter()
    programs, outcomes = named_programs(chosen), {}
    pool = Pool(chosen)
    try:
        for name, outcome in pool.outcomes(programs):
            outcomes[name] = outcome
            if not console.is_terminal and len(outcomes) % 100 == 0:
                console.print(f"{len(outcomes)} checked after {time.perf_counter() - begin:.0f} s")
            if outcome.status == "failed":
                folder = chosen.out / kind(outcome.message).partition(":")[0].replace(" ", "_")
                path = write(folder, name, programs[name], outcome.message)
                console.print(f"{path}: {kind(outcome.message)}", markup=False, highlight=False)
        report(outcomes.values(), time.perf_counter() - begin)
        failed = {n: o for n, o in outcomes.items() if o.status == "failed"}
        if chosen.reduce:
            small(pool, programs, failed, chosen.out)
    finally:
        pool.close()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
