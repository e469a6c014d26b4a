"""Ctrl-C while the command loads its modules: one line, whatever is being imported, and no traceback."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMALL
from skips import skip

from clearway.ends import interruption

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
        assert done.stderr == f"clearway: {interruption()}\n", where


@pytest.mark.parametrize(
    "call", [pytest.param(call, marks=pytest.mark.slow) if "report" in call else call for call in CALLS], ids=" ".join
)
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


#: What an older Python than Clearway needs reads before it can say so.
BEGINNING = ("__init__.py", "__main__.py", "start.py", "ends.py", "hooks.py")


def test_an_older_python_can_read_the_beginning_of_the_command() -> None:
    for name in BEGINNING:
        text = (REPOSITORY / "python" / "clearway" / name).read_text("utf-8")
        ast.parse(text, feature_version=(3, 8))
        assert "from __future__ import annotations" not in text, "Python 3.6 does not know it"


def test_a_python_that_is_too_old_is_one_line() -> None:
    program = (
        "import sys; sys.version_info = (3, 10, 13, 'final', 0); sys.modules['click'] = None;"
        "from clearway.start import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    said = "clearway: needs Python 3.11 or newer; this is 3.10.13\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert 'requires-python = ">=3.11"' in (REPOSITORY / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
def test_an_older_python_says_that_it_is_too_old(version: str) -> None:
    places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    program = str(places[-1]) if places else shutil.which(f"python{version}")
    if program is None:
        skip(f"Python {version}", f"pyenv install {version}")
    done = subprocess.run(
        [program, "-m", "clearway", "run", "incast"],
        cwd=REPOSITORY / "python",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith(f"clearway: needs Python 3.11 or newer; this is {version}.")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("click", "the Python package click is missing"),
        ("clearway._clearway", "its compiled part can't be loaded"),
        ("tomli_w", "the Python package tomli_w is missing"),
    ],
)
def test_a_part_of_the_installation_that_is_missing_is_one_line(missing: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['clearway', 'run', 'small.toml'];"
        "from clearway.start import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith(f"clearway: {said}")


def test_a_current_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir {gone}; exec "$@"', "sh", str(Path(sys.executable).parent / "clearway"), "run", "incast"],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "clearway: the current folder is gone; go to another, such as with cd\n"
