"""``python -m tests.conformance.onnx``: all of ONNX's node tests, forward and backward, and the table of docs/onnx.md.

Results are kept in a file, one line a case: a run that was stopped goes on where it was. ``--fresh`` starts again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path

from rich.progress import track

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
PAGE = HERE.parent.parent / "docs" / "onnx.md"
START, END = "<!-- table: written by tests.conformance.onnx -->", "<!-- end of the table -->"


def work(name: str) -> dict:
    from conformance.cases import run

    return asdict(run(_all()[name]))


def _all() -> dict:
    from conformance.cases import cases

    if not _cases:
        _cases.update({c.name: c for c in cases()})
    return _cases


_cases: dict = {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=".", help="cases whose name matches this expression")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("conformance_onnx.jsonl"))
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--write", action="store_true", help="write the table into docs/onnx.md")
    options = parser.parse_args()
    if options.fresh:
        options.out.unlink(missing_ok=True)
    done = read(options.out)
    names = [n for n in _all() if re.search(options.only, n) and n not in done]
    print(f"{len(names)} cases to run, {len(done)} known")
    with (
        options.out.open("a") as file,
        multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=50) as pool,
    ):
        for result in track(pool.imap_unordered(work, names), "running", total=len(names)):
            done[result["name"]] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
    shown = {n: r for n, r in done.items() if re.search(options.only, n)}
    failed = [r for r in shown.values() if r["forward"] != "pass"]
    wrong = [r for r in shown.values() if not known_gradient(r["gradient"])]
    for r in failed:
        print(f"forward   {r['name']}: {r['forward']}")
    for r in wrong:
        print(f"gradient  {r['name']}: {r['gradient']}")
    counted = Counter("pass" if r["forward"] == "pass" else "fail" for r in shown.values())
    graded = Counter(r["gradient"].split(":")[0] for r in shown.values())
    print(f"forward: {dict(counted)}\ngradients: {dict(graded)}")
    if options.write:
        write(done)
    return len(failed) + len(wrong)


def read(path: Path) -> dict:
    lines = path.read_text().splitlines() if path.exists() else []
    return {r["name"]: r for r in map(json.loads, lines)}


def known_gradient(text: str) -> bool:
    """Right, or said not to be there."""
    return text in ("", "pass", "none") or text.startswith(("no differences", "refused"))


def write(results: dict) -> None:
    """The table, by operator."""
    by_operator: dict[str, list[dict]] = defaultdict(list)
    for r in results.values():
        by_operator[r["operator"]].append(r)
    lines = ["| operator | cases | forward | by | gradients |", "|---|---|---|---|---|"]
    for operator, rows in sorted(by_operator.items()):
        passed = sum(r["forward"] == "pass" for r in rows)
        ways = ", ".join(sorted({r["how"] for r in rows if r["how"]}))
        lines.append(f"| {operator} | {len(rows)} | {passed} | {ways} | {graded_text(rows)} |")
    text = PAGE.read_text()
    head, tail = text.split(START)[0], text.split(END)[1]
    PAGE.write_text(f"{head}{START}\n" + "\n".join(lines) + f"\n{END}{tail}")


def graded_text(rows: list[dict]) -> str:
    counts = Counter(r["gradient"].split(":")[0] for r in rows if r["gradient"])
    right, none = counts.pop("pass", 0), counts.pop("none", 0)
    parts = [f"{right} right"] if right else []
    parts += [f"{n} {k}" for k, n in sorted(counts.items())]
    if none and not parts:
        return "no: nothing depends on real numbers"
    refused = next((r["gradient"] for r in rows if r["gradient"].startswith("refused")), "")
    return ", ".join(parts) + (f" ({refused.split(': ', 1)[1][:80]})" if refused else "")


if __name__ == "__main__":
    sys.exit(min(main(), 1))
