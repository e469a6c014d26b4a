"""Ctrl-C while the command loads its modules: one line, whatever is being imported, and no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL

from clearway.ends import WHOLE

#: Runs the command as `python -m clearway` does, and sends it Ctrl-C when the module of a number is imported, counted
#: from the first one that the command's beginning imports itself; prints how many there were if the number is 0.
SCRIPT = """\
import os, runpy, signal, sys
wanted, left, begun = int(sys.argv[1]), 0, False

def look(event, details):
    global left, begun
    if event != "import":
        return
    if begun:
        left += 1
        if left == wanted:
            os.kill(os.getpid(), signal.SIGINT)
    begun = begun or details[0] == "clearway.ends"

sys.addaudithook(look)
sys.argv = ["clearway", *sys.argv[2:]]
try:
    runpy.run_module("clearway", run_name="__main__", alter_sys=True)
finally:
    if not wanted:
        os.write(2, f"{left}\\n".encode())
"""

CALLS = (["--version"], ["run", "small.toml", "--quiet"], ["report", "small"], ["list", "transports", "--json"])
#: The moments of each call at which a test of the usual length interrupts it, and one of the long tests.
MOMENTS, MORE = 8, 200


def interrupted(call: list[str], moment: int, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "small.toml").write_text(SMALL)
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(moment), *call],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def check(call: list[str], moments: int, folder: Path) -> None:
    if call[0] == "report":
        (folder / "small.toml").write_text(SMALL)
        run = [sys.executable, "-m", "clearway", "run", "small.toml", "--out", "small", "--quiet"]
        subprocess.run(run, cwd=folder, check=True)
    whole = interrupted(call, 0, folder)
    assert whole.returncode == 0, whole.stderr
    imports = int(whole.stderr.splitlines()[-1])
    assert imports > 20
    for step in range(moments):
        moment = 1 + step * (imports - 1) // moments
        done = interrupted(call, moment, folder)
        where = f"{call} at import {moment} of {imports}: {done.stderr}"
        assert done.returncode == 130, where
        assert done.stderr == f"clearway: {WHOLE}\n", where


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_ctrl_c_while_modules_are_loaded_is_one_line(call: list[str], tmp_path: Path) -> None:
    check(call, MOMENTS, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_ctrl_c_at_many_more_moments_of_loading_is_one_line(call: list[str], tmp_path: Path) -> None:
    check(call, MORE, tmp_path)


def test_ctrl_c_that_comes_while_polars_works_is_heard_afterwards() -> None:
    from clearway.start import Ear

    ear = Ear()
    polars = {"__name__": "polars.io", "ear": ear}
    exec("import sys\near(2, sys._getframe())", polars)
    assert ear.waits
    with pytest.raises(KeyboardInterrupt):
        ear(2, sys._getframe())
    assert not ear.waits
