"""Ctrl-C in Python: `clearway.Interrupted` ends loops, in the main thread and in others, and brings the partial run."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import ENDLESS, SMALL, hear_ctrl_c

import clearway
from clearway import command
from clearway.ends import INTERRUPTED


def interrupted(tmp_path: Path, program: str, *, after: str = "ready") -> str:
    """Runs a program, sends it Ctrl-C a second after it printed `after`, and returns what it printed then."""
    (tmp_path / "endless.toml").write_text(ENDLESS)
    imports = "import clearway\nfrom clearway import Interrupted, compare, run, sweep\n"
    (tmp_path / "program.py").write_text(imports + textwrap.dedent(program))
    process = subprocess.Popen(
        [sys.executable, "-u", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == after, process.communicate(timeout=60)[1]
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return str(out) + str(errors)


def test_programs_that_tests_start_hear_ctrl_c_even_where_the_tests_run_in_the_background_of_a_script() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        hear_ctrl_c()
        program = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
        assert subprocess.check_output([sys.executable, "-c", program], text=True) == "True\n"
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_loop_and_brings_the_partial_run(tmp_path: Path) -> None:
    said = interrupted(
        tmp_path,
        """
        print("ready")
        begun = 0
        try:
            for seed in range(3):
                begun += 1
                try:
                    clearway.run("endless.toml", seed=seed, out=f"run-{seed}")
                except Exception:
                    print("swallowed")
        except clearway.Interrupted as stop:
            print(begun, stop.run.interrupted, stop.run.summary["simulated_s"] > 0, stop.partial is stop.run, stop)
        """,
    )
    assert "1 True True True endless under dctcp: interrupted after " in said
    assert "swallowed" not in said
    assert clearway.load(tmp_path / "run-0").interrupted
    assert not (tmp_path / "run-1").exists()


def test_ctrl_c_ends_a_comparison_and_brings_what_was_compared(tmp_path: Path) -> None:
    said = interrupted(
        tmp_path,
        """
        print("ready")
        try:
            clearway.compare("endless.toml", ["dctcp", "cubic"])
        except clearway.Interrupted as stop:
            print(list(stop.partial.runs), stop.partial.interrupted, stop.run is stop.partial.runs["dctcp"])
        """,
    )
    assert "['dctcp'] True True" in said


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param("futures[0].result()", id="a result"),
        pytest.param("pass", id="the pool's end"),
    ],
)
def test_ctrl_c_ends_simulations_in_the_threads_of_a_pool(tmp_path: Path, wait: str) -> None:
    said = interrupted(
        tmp_path,
        f"""
        from concurrent.futures import ThreadPoolExecutor
        futures = []
        try:
            with ThreadPoolExecutor(2) as pool:
                futures += [pool.submit(clearway.run, "endless.toml", seed=seed) for seed in range(8)]
                print("ready")
                {wait}
        except KeyboardInterrupt:
            found = [future.exception() for future in futures]
            print(sum(isinstance(one, clearway.Interrupted) for one in found), found[0].run.interrupted)
        """,
    )
    assert "8 True" in said


def test_ctrl_c_that_nobody_catches_ends_a_thread_that_outlives_the_main_one(tmp_path: Path) -> None:
    said = interrupted(
        tmp_path,
        """
        import threading

        def work():
            try:
                for seed in range(100):
                    clearway.run("endless.toml", seed=seed)
            except clearway.Interrupted as stop:
                print("ended", stop.run.summary["seed"])

        threading.Thread(target=work).start()
        print("ready")
        threading.Event().wait()
        """,
    )
    assert "ended 0" in said


def test_ctrl_c_ends_a_simulation_that_asyncio_put_into_a_thread(tmp_path: Path) -> None:
    said = interrupted(
        tmp_path,
        """
        import asyncio

        async def main():
            print("ready")
            await asyncio.to_thread(clearway.run, "endless.toml")

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("ended")
        """,
    )
    assert "ended" in said


def test_ctrl_c_ends_a_sweep_and_brings_the_finished_points(tmp_path: Path) -> None:
    said = interrupted(
        tmp_path,
        """
        # Modules are loaded and sources read by a first sweep, which takes a busy machine more than a second.
        clearway.sweep("endless.toml", {"seed": [1]}, set={"stop": "1 us"}, processes=1, out="before")
        print("ready")
        try:
            clearway.sweep("endless.toml", {"seed": [1, 2, 3]}, processes=1, out="swept")
        except clearway.Interrupted as stop:
            print(stop.run, stop.partial.points, stop.partial.interrupted)
        """,
    )
    assert "None 3 True" in said


def test_a_callback_that_returns_false_ends_its_run_alone() -> None:
    runs = [clearway.run(ENDLESS, seed=seed, progress=lambda _: False) for seed in (1, 2)]
    assert [run.interrupted for run in runs] == [True, True]


def test_an_old_ctrl_c_at_the_prompt_stops_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(sys, "last_value", KeyboardInterrupt(), raising=False)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(clearway.run, SMALL).result().summary["ended"] == "complete"


def test_the_exception_travels_between_processes() -> None:
    run = clearway.run(SMALL)
    copy = pickle.loads(pickle.dumps(clearway.Interrupted(run)))
    assert copy.run.hash == run.hash
    assert issubclass(clearway.Interrupted, KeyboardInterrupt)
    assert not issubclass(clearway.Interrupted, Exception)


def test_ctrl_c_that_python_wraps_in_another_error_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As Python 3.11 does where Ctrl-C comes while an import makes a class.
    def main(**_: object) -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(command.cli, "main", main)
    assert command.guarded() == INTERRUPTED
    assert capsys.readouterr().err.startswith("clearway: interrupted;")
