#!/usr/bin/env python3
"""Runs the notebooks in `docs/notebooks` and writes their outputs into them; with `--check` it compares instead.

    tools/notebooks.py [--check] [NOTEBOOK ...]

Text and tables must come out as they are saved. Rows on the cost of a run and pictures are not compared, since they
depend on the machine and on the versions of matplotlib and its fonts. A notebook whose outputs are as before is left as
it is, so that running it twice changes nothing.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

#: It has no types for checkers.
nbformat: Any = importlib.import_module("nbformat")
FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
#: Rows of a table that say what a run cost.
COST = re.compile(r"<tr><td[^>]*>(?:speed|CPU time|peak memory)\b.*?</tr>", re.DOTALL)
PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)
STYLE = re.compile(r"<style.*?</style>", re.DOTALL)


def main() -> int:
    """Runs the notebooks, and writes or compares their outputs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks  [default: all of docs/notebooks]")
    parser.add_argument("--check", action="store_true", help="fail if an output differs from the saved one")
    arguments = parser.parse_args()
    wrong = 0
    for path in arguments.notebooks or sorted(FOLDER.glob("*.ipynb")):
        saved = nbformat.read(path, as_version=4)
        try:
            made = executed(saved)
        except CellExecutionError as error:
            print(f"{path}: {error}", file=sys.stderr)
            wrong += 1
            continue
        changed = [
            index
            for index, (old, new) in enumerate(zip(saved.cells, made.cells, strict=True), 1)
            if texts(old) != texts(new)
        ]
        for index in changed if arguments.check else ():
            print(
                f"{path}: cell {index} gives another output than the saved one; run `make notebooks`", file=sys.stderr
            )
            wrong += 1
        if changed and not arguments.check:
            nbformat.write(made, path)
            print(f"{path}: written")
    return 1 if wrong else 0


def executed(notebook: Any) -> Any:
    """A copy of a notebook with the outputs of its cells, run in an empty folder."""
    made = nbformat.reads(nbformat.writes(notebook), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        NotebookClient(made, timeout=120, kernel_name="python3", resources=place).execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            # A bar that has gone leaves an empty output.
            cell.outputs = [one for one in cell.outputs if one.get("data", {}).get("text/html") != ""]
    made.metadata.pop("language_info", None)
    return made


def texts(cell: Any) -> list[str]:
    """The texts and tables that a cell gave."""
    if cell.cell_type != "code":
        return []
    found = []
    for output in cell.outputs:
        if "text" in output:
            found.append(output.text)
        data = output.get("data", {})
        found += [data[kind] for kind in ("text/html", "text/plain", "text/markdown") if kind in data]
    return [STYLE.sub("", PICTURE.sub("", COST.sub("", text))) for text in found]


if __name__ == "__main__":
    sys.exit(main())
