"""The notebooks of the documentation run, and give the outputs that are saved in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))
TOOL = REPOSITORY / "tools" / "notebooks.py"


def check(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the tool in a process of its own: a kernel is one too, and warns about its sockets."""
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "1-first-run",
        "2-comparing-transports",
        "3-inside-an-incast",
    ]


def test_the_notebooks_give_the_outputs_that_are_saved_in_them() -> None:
    done = check("--check")
    assert done.returncode == 0, done.stderr


def test_an_output_that_is_no_longer_true_is_named(tmp_path: Path) -> None:
    content = json.loads(NOTEBOOKS[0].read_text("utf-8"))
    printed = [place for place, cell in enumerate(content["cells"]) if "text" in (*cell.get("outputs", []), {})[0]]
    content["cells"][printed[0]]["outputs"][0]["text"] = ["Another result.\n"]
    path = tmp_path / "other.ipynb"
    path.write_text(json.dumps(content), "utf-8")
    done = check("--check", path)
    assert done.returncode == 1
    assert f"{path}: cell {printed[0] + 1} gives another output than the saved one" in done.stderr


def test_no_notebook_holds_an_error_or_the_machine_it_ran_on() -> None:
    for path in NOTEBOOKS:
        text = path.read_text("utf-8")
        assert '"output_type": "error"' not in text, path
        assert str(Path.home()) not in text, path
        assert "/tmp/" not in text, path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_cell_of_a_notebook_was_run(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
