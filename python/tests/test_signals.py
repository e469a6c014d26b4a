"""Ctrl-C, SIGTERM and SIGHUP at any moment of a command: its exit code says which it was, and results stay whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ENDLESS, SMALL

import clearway

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

#: Runs the command and sends it a signal at the step of a number: steps are opened, made, moved and removed files and
#: folders, from the first module that the command loads on. Prints how many there were if the number is 0.
SCRIPT = """\
import os, runpy, signal, sys
number, wanted, left, begun = int(sys.argv[1]), int(sys.argv[2]), 0, False
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "shutil.rmtree"}

def look(event, details):
    global left, begun
    if begun and event in EVENTS:
        left += 1
        if left == wanted:
            os.kill(os.getpid(), number)
    begun = begun or (event == "import" and details[0] == "clearway.command")

sys.addaudithook(look)
sys.argv = ["clearway", *sys.argv[3:]]
try:
    runpy.run_module("clearway", run_name="__main__", alter_sys=True)
finally:
    if not wanted:
        os.write(2, f"{left}\\n".encode())
"""
#: The steps of a run at which a test of the usual length interrupts it, and one of the long tests.
STEPS, MORE = 8, 100


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Lets commands heed the signals also where these tests run under `nohup`, whose children ignore SIGHUP."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def signalled(number: int, step: int, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "small.toml").write_text(SMALL)
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(int(number)), str(step), "run", "small.toml", "--out", "it", "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def check(number: signal.Signals, steps: int, folder: Path) -> None:
    whole = signalled(number, 0, folder)
    assert whole.returncode == 0, whole.stderr
    last = int(whole.stderr.splitlines()[-1])
    assert last > 30
    codes = []
    for at in range(steps):
        step = 1 + at * (last - 1) // steps
        done = signalled(number, step, folder)
        where = f"{number.name} at step {step} of {last}: {done.stderr}"
        # It may come too late, when all is done.
        assert done.returncode in (0, SIGNALS[number]), where
        by = "" if number == signal.SIGINT else f" by {number.name}"
        said = f"clearway: interrupted{by}; every folder of results is as it was, or new and whole\n"
        assert done.stderr == ("" if done.returncode == 0 else said), where
        assert clearway.load(folder / "it").summary["flows_completed"] == 6, where
        assert list(folder.glob(".*")) == [], where
        codes.append(done.returncode)
    assert codes.count(SIGNALS[number]) > steps / 2


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.slow) for one in SIGNALS if one != signal.SIGINT)],
    ids=lambda number: number.name,
)
def test_a_signal_at_any_step_of_a_run_is_one_line_and_leaves_results_whole(
    number: signal.Signals, tmp_path: Path
) -> None:
    check(number, STEPS, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_at_many_more_steps_is_one_line_and_leaves_results_whole(
    number: signal.Signals, tmp_path: Path
) -> None:
    check(number, MORE, tmp_path)


def processor_s(process: int) -> float:
    """The processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_during_a_simulation_keeps_what_was_simulated(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    command = [sys.executable, "-m", "clearway", "run", "endless.toml", "--out", "it"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 60
        while processor_s(process.pid) < 2.5:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == SIGNALS[number], errors
    assert "Interrupted: " in errors
    run = clearway.load(tmp_path / "it")
    assert run.interrupted
    assert run.summary["simulated_s"] > 0


def test_a_signal_that_the_caller_ignores_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    # The command sends SIGHUP to itself before it has loaded anything, and goes on under `nohup`.
    program = (
        "import os, signal, sys; os.kill(os.getpid(), signal.SIGHUP); sys.argv = ['clearway', 'check', 'small.toml'];"
        "from clearway.start import main; main()"
    )
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-c", program]
    done = subprocess.run(ignoring, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
