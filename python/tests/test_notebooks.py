"""The notebooks of the documentation run, and give the outputs that are saved in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENDLESS, REPOSITORY

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


@pytest.mark.slow
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


#: A client of a kernel: it runs a loop and a thread of endless simulations, and presses the stop button in each.
STOPPED = """
import sys, time
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")


def cell(code, stop=False):
    asked, began = client.execute(code), time.monotonic()
    while time.monotonic() - began < 60:
        if stop and time.monotonic() - began > 1.5:
            manager.interrupt_kernel()
            stop = False
        try:
            message = client.get_iopub_msg(timeout=0.2)
        except Exception:
            continue
        content = message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        if message["msg_type"] == "error":
            print(content["ename"])
        if message["msg_type"] == "stream":
            print(content["text"], end="")
        if content.get("execution_state") == "idle":
            return


cell(f"from clearway import Interrupted, run; import threading, time; endless = {sys.stdin.read()!r}")
cell("for seed in range(3): run(endless, seed=seed)", stop=True)
cell("def work():\\n try: run(endless)\\n except Interrupted as stop: print(stop.run.interrupted)")
cell("thread = threading.Thread(target=work); thread.start(); thread.join()", stop=True)
cell("thread.join(10); print(thread.is_alive())")
manager.shutdown_kernel(now=True)
"""


@pytest.mark.full
def test_the_stop_button_ends_a_loop_and_a_simulation_in_a_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED], input=ENDLESS, capture_output=True, text=True, timeout=300, check=False
    )
    # The thread and its cell end at one time, in either order.
    assert sorted(done.stdout.split()) == ["False", "Interrupted", "KeyboardInterrupt", "True"], done.stderr
