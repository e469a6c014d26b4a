"""Sweeps on a cluster: the same bytes as on one core, whichever worker dies."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, SMALL
from skips import reason
from test_sweep import SWEEP, files_of, small_dict

import clearway
from clearway.jobs.cluster import connect
from clearway.jobs.progress import Tally
from clearway.jobs.workers import Task
from clearway.sweeps import run as running

distributed = pytest.importorskip("distributed", reason=reason("dask", "pip install 'clearway[cluster]'"))

#: A queue of one machine: a job starts at once. It ends with the process group of the test.
SBATCH = """\
#!/bin/bash
bash "${@: -1}" > "$SLURM_LOG" 2>&1 &
echo "$! $(date)" >> "$SLURM_LOG.jobs"
echo "Submitted batch job $!"
"""
SCANCEL = """\
#!/bin/bash
for job in "$@"; do pkill -P "$job"; kill "$job"; done 2> /dev/null
true
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three worker processes with a scheduler."""
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as found:
        yield found


def address(cluster: Any) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


def swept(out: Path, **more: Any) -> clearway.Sweep:
    axes = {
        "transport": ["expresspass", "dctcp"],
        "traffic.burst.size": ["64 KB", "2 MB"],
        "seed": {"from": 1, "to": 6},
    }
    return clearway.sweep(small_dict(), axes, out=out, **more)


@pytest.mark.filterwarnings("default")
def test_a_sweep_on_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(cluster: Any, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one(tally: Tally) -> None:
        if tally.done == 5 and not killed:
            worker = next(iter(cluster.workers.values())).pid
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)

    found = swept(tmp_path / "far" / "out", on=address(cluster), progress=kill_one)
    assert killed
    assert (found.frame.height, found.failures.height) == (24, 0)
    assert files_of(found.out) == files_of(swept(tmp_path / "near" / "out", processes=1).out)


@pytest.mark.filterwarnings("default")
def test_an_error_on_a_cluster_is_that_of_its_point(cluster: Any) -> None:
    # A worker that an earlier test killed may have yet to come back.
    deadline = time.monotonic() + 60
    while len(cluster.scheduler.workers) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    workers = connect(address(cluster))
    assert workers.count == 3
    done = {one.task.name: one for one in workers.run([Task("good", abs, (-1,)), Task("bad", int, ("x",))])}
    other = list(workers.run([Task("other", running.compute, (SMALL, "another version"))]))
    workers.close()
    assert done["good"].result == 1
    assert done["bad"].failure is not None
    assert "ValueError: invalid literal" in done["bad"].failure.message
    assert other[0].failure is not None
    assert "has another Clearway" in other[0].failure.message


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("dask", "--on dask: write dask://HOST:PORT"),
        ("kubernetes", "or slurm"),
        ("dask://127.0.0.1:9", "there is no scheduler of Dask"),
    ],
)
def test_a_cluster_that_is_not_there_is_an_error_in_a_line(
    where: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearway.jobs.cluster.CONNECT", "1s")
    with pytest.raises(clearway.Error) as caught:
        connect(where)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(clearway.Error, match=r"pip install 'clearway\[cluster\]'"):
        connect("slurm")


@pytest.mark.full
def test_jobs_of_slurm_run_a_sweep(tmp_path: Path) -> None:
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "two.toml").write_text(SWEEP)
    settings = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "SLURM_LOG": str(tmp_path / "slurm.log"),
        "DASK_JOBQUEUE__SLURM__CORES": "1",
        "DASK_JOBQUEUE__SLURM__MEMORY": "1GB",
        "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
        "DASK_JOBQUEUE__SLURM__PYTHON": sys.executable,
    }
    command = [sys.executable, "-m", "clearway", "sweep", "two.toml", "--on", "slurm", "-j", "2"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "slurm.log.jobs").read_text().splitlines()) == 2
    near = clearway.sweep(tmp_path / "two.toml", out=tmp_path / "near" / "two", processes=1)
    assert files_of(tmp_path / "out" / "two") == files_of(near.out)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.filterwarnings("default")
def test_an_evaluation_killed_twice_gives_the_same_bytes_on_two_cores_and_on_a_cluster(
    cluster: Any, tmp_path: Path
) -> None:
    text = (REPOSITORY / "scenarios" / "sweeps" / "evaluation.toml").read_text("utf-8")
    for old, new in (("to = 0.7", "to = 0.3"), ("to = 5", "to = 2"), ("flows = 1000", "flows = 100")):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "evaluation.toml"
    path.write_text(text)
    calm = clearway.sweep(path, out=tmp_path / "calm" / "out", processes=2)
    assert calm.frame.height == 4 * 2 * 3 * 2
    wild = [sys.executable, "-m", "clearway", "sweep", str(path), "--quiet", "-j", "2"]
    wild += ["--out", str(tmp_path / "wild" / "out")]
    for _ in range(2):
        process = subprocess.Popen(wild)
        # Not before a result is there, so that there is something to lose.
        before = kept(tmp_path / "wild")
        while process.poll() is None and kept(tmp_path / "wild") < before + 5:
            time.sleep(0.02)
        assert process.poll() is None
        process.kill()
        process.wait()
    assert 10 <= kept(tmp_path / "wild") < calm.frame.height
    subprocess.run(wild, check=True)
    far = clearway.sweep(path, out=tmp_path / "far" / "out", on=address(cluster))
    assert files_of(tmp_path / "wild" / "out") == files_of(calm.out) == files_of(far.out)


def kept(folder: Path) -> int:
    """The results that the store beside the folder of a sweep has."""
    return len(list((folder / ".store").glob("??/*/entry.json")))
