"""What benchmarks of several rows share: their options, and the files that they write."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def options_of(name: str, about: str, rows: str, reps: int, given: Sequence[str] | None) -> argparse.Namespace:
    """The options of a benchmark: which rows, how many repetitions, and a folder for the results."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about.split("\n")[0])
    parser.add_argument("--only", default="", help=f"{rows} whose name contains this text")
    parser.add_argument("--reps", type=int, default=reps)
    parser.add_argument("--out", type=Path, help="a folder for the table and the numbers")
    return parser.parse_args(given)


def publish(name: str, about: str, rows: Sequence[Any], text: str, out: Path | None) -> None:
    """Print a table; write it under what it is about, and the numbers, if there is a folder."""
    print(text)
    if out is not None:
        lines = "\n".join(line for line in about.strip().splitlines() if "python -m" not in line)
        title = name.capitalize().replace("_", " ")
        (out / f"{name}.md").write_text(f"# {title}\n\n{lines}\n\n{text}\n")
        (out / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")
