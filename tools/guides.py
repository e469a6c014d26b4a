#!/usr/bin/env python3
"""Runs the pages that teach (`docs/start`, `docs/tutorials`, `docs/how-to`, `docs/explanation`), as a reader would.

    tools/guides.py [--pictures] [PAGE ...]

A page is one session in an empty folder; one with the line `<!-- after: OTHER.md -->` goes on in that of another. Files
that it says to save are saved, its commands and its Python are run in their order, and each line of a `text` block must
have been printed. With `--pictures`, pictures that a page makes and that `docs/img` has under the same name replace
those.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
PICTURES = DOCS / "img"
#: Folders whose pages are run as a whole.
FOLDERS = ("start", "tutorials", "how-to", "explanation")
#: Pages of these folders that are no session of a reader: their blocks are checked one by one, as those of other pages.
APART = (
    *("how-to/add-a-transport", "how-to/clearwayd", "how-to/linux-switch", "how-to/live-page"),
    *("explanation/memory", "explanation/threads"),
)
#: Commands of pages that are run; others configure the machine or take minutes.
RUN = re.compile(r"(clearway (?!completion|demo|reproduce|testbed|view)|cat |diff )")
#: What a `text` block leaves out.
LEFT_OUT = "..."
#: Marks of `text` blocks that no command of the page printed: formulas, and what other programs read or print.
UNPRINTED = {"formula", "elsewhere"}
#: A code block, after the name of the file that it is to be saved as, if there is one.
BLOCK = re.compile(
    r"(?:[Ss]ave\s+this\s+as\s+`(?P<file>[\w./-]+)`:\n\n)?^```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


#: The page in whose folder a page goes on.
AFTER = re.compile(r"^<!-- after: (\S+) -->$", re.MULTILINE)


class PageError(Exception):
    """A page says what is not so."""


def pages() -> list[Path]:
    """The pages that teach."""
    apart = {DOCS / f"{name}.md" for name in APART}
    return sorted(page for folder in FOLDERS for page in (DOCS / folder).rglob("*.md") if page not in apart)


def commands(body: str) -> Iterator[str]:
    """The commands of a block that can be run anywhere, each on one line."""
    for line in body.replace("\\\n", " ").splitlines():
        command = line.removeprefix("$ ").replace(".venv/bin/", "")
        if RUN.match(command) and " --on " not in command:
            yield command


def run(page: Path, folder: Path) -> str:
    """Runs a page in a folder, which must be the current one, and returns what it printed."""
    names: dict[str, object] = {}
    printed = ""
    if before := AFTER.search(page.read_text("utf-8")):
        run(page.parent / before[1], folder)
    else:
        (folder / "scenarios").symlink_to(REPOSITORY / "scenarios")
    env = {**os.environ, "COLUMNS": "120"}
    for block in BLOCK.finditer(page.read_text("utf-8")):
        body, language = block["body"], block["language"]
        if block["file"]:
            (folder / block["file"]).parent.mkdir(parents=True, exist_ok=True)
            (folder / block["file"]).write_text(body, "utf-8")
        elif not language:
            program = f'clearway() {{ "{sys.executable}" -m clearway "$@"; }}\nset -e\n' + "\n".join(commands(body))
            done = subprocess.run(["bash", "-c", program], cwd=folder, env=env, capture_output=True, text=True)
            if done.returncode:
                raise PageError(f"{page.name}: {body}{done.stderr}")
            printed += done.stdout + done.stderr
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(body, page.name, "exec"), names)
            printed += out.getvalue()
        elif language == "text" and not UNPRINTED & set(block["info"].split()):
            compare(page, body, printed)
    return printed


def compare(page: Path, body: str, printed: str) -> None:
    """Each line of a block was printed, whatever the spaces between its words."""
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    for line in body.splitlines():
        words = " ".join(line.split())
        if words and words != LEFT_OUT and words not in lines:
            raise PageError(f"{page.name}: this was not printed: {line}")


def main() -> int:
    """Runs pages, and copies their pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="pages  [default: all]")
    parser.add_argument("--pictures", action="store_true", help="replace the pictures of docs/img")
    arguments = parser.parse_args()
    # Pictures are the same bytes each time, as those of the pages of results.
    mpl.rcParams.update({"svg.hashsalt": "clearway", "svg.fonttype": "none"})
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    wrong = 0
    for page in [one.resolve() for one in arguments.pages] or pages():
        with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
            try:
                run(page, Path(name))
            except PageError as error:
                print(error, file=sys.stderr)
                wrong += 1
                continue
            for picture in sorted(Path(name).glob("*.svg")) if arguments.pictures else ():
                if f"img/{picture.name}" in page.read_text("utf-8"):
                    shutil.copy(picture, PICTURES / picture.name)
                    print(f"{page.name}: {picture.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
