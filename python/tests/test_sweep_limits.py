"""Points that die, take too long or take too much memory: each fails alone, in a line, with one process or several."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import ENDLESS, Cli

import clearway
from clearway.jobs.workers import Limits
from clearway.sweeps import copies
from clearway.sweeps import run as running
from clearway.sweeps.limits import PointLimits, limits

#: Two points that take a moment, and between them one that never ends.
SWEEP = """\
scenario = "endless.toml"
name = "three"

[axes]
stop = ["1 ms", "1000 s", "2 ms"]
"""
#: Three points, of which one takes some hundred megabytes.
LARGE = """\
scenario = "endless.toml"
name = "three"

[set]
stop = "1 ms"
"topology.hosts" = 200
traffic = [{name = "open", kind = "long", pairs = "random", count = 10}]

[axes]
"traffic.open.count" = [10, 300_000, 20]
"""


def sweep_file(place: Path, text: str = SWEEP) -> Path:
    (place / "endless.toml").write_text(ENDLESS)
    path = place / "three.toml"
    path.write_text(text)
    return path


def workers_of_this_process() -> list[int]:
    threads = Path(f"/proc/{os.getpid()}/task").iterdir()
    children = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    return [one for one in children if b"clearway.jobs.worker" in Path(f"/proc/{one}/cmdline").read_bytes()]


@contextmanager
def ended_at(store: Path, key: str, number: signal.Signals) -> Iterator[list[int]]:
    """Ends worker processes by a signal whenever they begin the point of a key; gives the list of those."""
    ended: list[int] = []
    over = threading.Event()

    def watch() -> None:
        claim = store / ".claims" / key
        while not over.wait(0.01):
            if claim.exists():
                claim.unlink()  # The next worker makes it again.
                for child in workers_of_this_process():
                    with suppress(ProcessLookupError):
                        os.kill(child, number)
                    ended.append(child)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield ended
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT], ids=["killed", "aborts"])
def test_a_point_whose_process_dies_fails_alone_with_one_process_too(number: signal.Signals, tmp_path: Path) -> None:
    path = sweep_file(tmp_path)
    plan = running.Plan.of(copies.read(path), tmp_path / "out" / "three", None)
    with ended_at(tmp_path / "out" / ".store", plan.points[1].key, number) as ended:
        found = clearway.sweep(path, out=tmp_path / "out" / "three", processes=1)
    assert len({*ended}) == 2
    assert found.frame["stop_s"].to_list() == [0.001, 0.002]
    (failure,) = found.failures.to_dicts()
    assert failure["stop_s"] == 1000
    assert failure["error"].startswith(f"its worker process was killed by {number.name}")
    assert failure["error"].endswith("it was tried 2 times")


def test_a_point_that_takes_longer_than_its_limit_fails_in_a_line_and_the_others_go_on(
    cli: Cli, tmp_path: Path
) -> None:
    done = cli("sweep", sweep_file(tmp_path), "-j", 1, "--point-timeout", "8 s", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert [row["stop_s"] for row in found["runs"]] == [0.001, 0.002]
    assert [row["error"] for row in found["failures"]] == ["it took more than 8 s, the limit of its time"]
    lines = done.stderr.splitlines()
    assert lines[0] == "Failed: stop_s = 1000.0: it took more than 8 s, the limit of its time"
    assert lines[1].startswith("1 of 3 points failed; they are listed in out/three/failures.csv")
    assert clearway.load_sweep(tmp_path / "out" / "three").failures.height == 1


@pytest.mark.slow
def test_a_point_that_takes_more_memory_than_its_limit_fails_in_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, LARGE)
    found = clearway.sweep(path, out=tmp_path / "out" / "three", processes=1, point_memory="100 MB")
    assert found.frame["count"].to_list() == [10, 20]
    assert found.failures["count"].to_list() == [300_000]
    assert found.failures["error"].to_list() == ["it took more than 100 MB of memory, its limit"]
    again = clearway.sweep(path, out=tmp_path / "out" / "three", processes=1, point_memory="4 GB")
    assert (again.frame.height, again.failures.height) == (3, 0)


def test_by_default_points_that_run_together_stay_within_the_machine_and_each_has_its_estimate(tmp_path: Path) -> None:
    points = running.Plan.of(copies.read(sweep_file(tmp_path, LARGE)), tmp_path / "out", None).points
    needs = [point.memory_bytes for point in points]
    assert needs[1] > 10 * max(needs[0], needs[2])
    total = 2 * sum(needs)
    for processes in (1, 2, 3):
        given = [one.memory_bytes or 0 for one in limits(PointLimits(), points, processes, total)]
        assert all(has > need for has, need in zip(given, needs, strict=True))
        assert total - 3 <= sum(sorted(given)[-processes:]) <= total
    assert limits(PointLimits(), points, 2, None) == [Limits()] * 3
    assert limits(PointLimits(5.0, 10), points, 2, total) == [Limits(5.0, 10)] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--point-timeout", "soon"], "--point-timeout = 'soon': write a wall time above 0 such as \"30 s\""),
        (["--point-timeout", "0 s"], "--point-timeout = '0 s': write a wall time above 0"),
        (["--point-memory", "much"], "--point-memory = 'much': must be a size such as \"64 GB\""),
        (["--point-memory", "0 GB"], "--point-memory = '0 GB': write a size above 0"),
        (["--point-memory", "1 GB", "--on", "slurm"], "--point-memory: a cluster has limits of its own"),
        (["--point-timeout", "1 s", "--on", "slurm"], "--point-timeout: a cluster has limits of its own"),
    ],
)
def test_a_limit_that_is_none_is_refused_in_a_line(
    arguments: list[str], message: str, cli: Cli, tmp_path: Path
) -> None:
    done = cli("sweep", sweep_file(tmp_path), *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
