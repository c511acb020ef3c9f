"""The documentation is true: its Python blocks run, printed programs are what is printed, tables are the tables.

A block marked ``python`` runs in one namespace for each page. Its first line may say what it does:
``# raises DifferentiationError`` or ``# raises DifferentiationError: part of the message``, and ``# prints``: the next
block marked ``text`` is what it prints.
"""

import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

import sdgrad
from sdgrad.symbolic.scalar_rules import ROWS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """Kind, first line number and content of every marked block."""
    return [(m[1], text.count("\n", 0, m.start(2)), m[2]) for m in BLOCK.finditer(text)]


def as_python(found):
    """The page as a Python file: its blocks at their lines, so that functions have source and errors a place."""
    lines = []
    for kind, start, content in found:
        if kind == "python":
            lines += [""] * (start - len(lines)) + content.splitlines()
    return "\n".join(lines) + "\n"


def run(content, start, file, namespace):
    """What a block prints; an error it announces is checked."""
    code = compile("\n" * start + content, str(file), "exec")
    printed = StringIO()
    announced = re.match(r"# raises (\w+)(?:: (.*))?\n", content)
    with redirect_stdout(printed):
        if announced is None:
            exec(code, namespace)
        else:
            with pytest.raises(getattr(sdgrad.errors, announced[1])) as caught:
                exec(code, namespace)
            assert (announced[2] or "") in str(caught.value)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_page(page, tmp_path, monkeypatch):
    found = blocks(page.read_text())
    file = tmp_path / f"page_{page.stem}.py"
    file.write_text(as_python(found))
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, file.stem, module)
    monkeypatch.chdir(tmp_path)
    with sdgrad.config.compiling():  # graphs that a page calls are compiled by DaCe
        for k, (kind, start, content) in enumerate(found):
            if kind == "python":
                printed = run(content, start, file, module.__dict__)
                if content.startswith("# prints"):
                    assert found[k + 1][0] == "text"
                    assert printed == found[k + 1][2]


def test_kinks_are_those_of_the_table():
    rows = [f"| {', '.join(f'`{n}`' for n in (r.name, *r.aliases))} | {r.kink} |" for r in ROWS if r.kink]
    table = "\n".join(["| function | at the kink |", "|---|---|", *rows])
    assert table in (ROOT / "docs" / "gradients.md").read_text()


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
