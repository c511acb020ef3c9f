"""``sdgrad cache``: how much compiled programs take on disk, which they are, and how to remove them."""

from __future__ import annotations

import time
from collections import defaultdict

import click
from rich.console import Console
from rich.table import Table

from sdgrad.cli.options import as_json, print_json
from sdgrad.config import config
from sdgrad.machine.limits import shown
from sdgrad.runtime.compile.cache_contents import Entry, entries, total

DAY = 86400.0
age = click.option("--older", "days", type=float, default=0.0, help="Only what no process has used for so many days.")


@click.group()
def cache() -> None:
    """Look at the compiled programs on disk, and remove them.

    \b
    sdgrad cache size               # bytes, by kind
    sdgrad cache list --older 30    # what was not used for a month
    sdgrad cache clean --older 30   # and remove it
    """


@cache.command()
@as_json
def size(as_json: bool) -> None:
    """Say how much there is of each kind, and where."""
    found = entries(config.cache_root)
    kinds: dict[str, list[Entry]] = defaultdict(list)
    for entry in found:
        kinds[entry.kind].append(entry)
    if as_json:
        told = {kind: {"count": len(all_), "bytes": total(all_)} for kind, all_ in kinds.items()}
        print_json({"folder": str(config.cache_root), "bytes": total(found), "kinds": told})
        return
    table = Table("kind", "count", "size", title=str(config.cache_root), title_justify="left")
    for kind, all_ in sorted(kinds.items(), key=lambda x: -total(x[1])):
        table.add_row(kind, str(len(all_)), shown(total(all_)))
    table.add_section()
    table.add_row("all", str(len(found)), shown(total(found)))
    Console().print(table)


@cache.command("list")
@age
@as_json
def list_(days: float, as_json: bool) -> None:
    """List programs, headers and files, the least used first."""
    found = _older(days)
    if as_json:
        print_json([{"path": str(e.path), "kind": e.kind, "bytes": e.size, "used": e.used} for e in found])
        return
    table = Table("last used", "kind", "size", "name")
    for entry in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        table.add_row(when, entry.kind, shown(entry.size), entry.path.name)
    Console().print(table)


@cache.command()
@age
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@as_json
def clean(days: float, dry_run: bool, as_json: bool) -> None:
    """Remove compiled programs, headers and all else that is made again when it is needed.

    Processes that run go on with what they have loaded, and what one is compiling just now stays.
    """
    found = _older(days)
    if not dry_run:
        found = [entry for entry in found if entry.remove()]
    if as_json:
        print_json({"removed": not dry_run, "bytes": total(found), "paths": [str(e.path) for e in found]})
        return
    count = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    click.echo(f"{'would remove' if dry_run else 'removed'} {count}, {shown(total(found))}")


def _older(days: float) -> list[Entry]:
    """Return the entries that were not used for some days."""
    return [e for e in entries(config.cache_root) if e.used <= time.time() - days * DAY]
