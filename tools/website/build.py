"""Builds the documentation as a site: `make site`, which writes `out/site/index.html`.

    .venv/bin/python tools/website/build.py
    .venv/bin/python tools/website/build.py --check

The pages of `docs/` are Markdown that reads well on GitHub. `stage` copies them into `target/site` in the form in which
Sphinx takes them, and Sphinx turns them into HTML; whatever it warns of is an error. Old addresses lead to the new ones
(`moved.py`). With `--plain`, the pages have no theme and no navigation at their sides, which take half of the time;
what CI looks at, warnings and the search, is the same. With `--check`, the search of the site that is there is tried
with the questions of new readers (`questions.py`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import excerpts
import moved
import questions
import stage

ROOT = Path(__file__).parent.parent.parent
STAGED = ROOT / "target" / "site" / "pages"
SITE = ROOT / "out" / "site"
#: The live page, which the site carries where `make web` has built it.
LIVE = ROOT / "python" / "clearway" / "data" / "web" / "clearway.html"


def main() -> int:
    """Builds the site, or checks the search of one that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="check the search of the site that is there")
    parser.add_argument("--plain", action="store_true", help="leave out the theme, for a check in half the time")
    arguments = parser.parse_args()
    if arguments.check:
        return questions.check(SITE)
    for folder in (STAGED.parent, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    stage.stage(ROOT, STAGED, has_live_page=LIVE.is_file())
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning", "--jobs", "auto"]
    command += ["--tag", "plain"] if arguments.plain else []
    command += ["--conf-dir", str(Path(__file__).parent), "--doctree-dir", str(STAGED.parent / "doctrees")]
    done = subprocess.run([*command, str(STAGED), str(SITE)], env={**os.environ, "PYTHONHASHSEED": "0"})
    if done.returncode:
        return done.returncode
    if LIVE.is_file():
        shutil.copyfile(LIVE, SITE / "live.html")
    excerpts.write(SITE)
    moved.write(SITE)
    print(f"wrote {SITE.relative_to(ROOT)}/index.html; open it in a browser")
    return questions.check(SITE)


if __name__ == "__main__":
    sys.exit(main())
