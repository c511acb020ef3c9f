"""The source distribution holds what the repository does, apart from what its host runs."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = (".ci/", ".github/", ".gitignore")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what git knows is compared with")
def test_all_that_git_knows_is_in_it(tmp_path):
    told = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    known = {name for name in told.stdout.splitlines() if not name.startswith(LEFT_OUT) and (ROOT / name).exists()}
    for name in known:  # setuptools writes beside what it reads
        target = tmp_path / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path / "source", capture_output=True, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as made:
        files = {name.partition("/")[2] for name in (m.name for m in made.getmembers() if m.isfile())}
    added = {"PKG-INFO"}
    assert {f for f in files if ".egg-info/" not in f} - added == known
