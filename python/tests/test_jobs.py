"""Stores of results and workers: nothing is lost or half there, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clearway import Error
from clearway.jobs import files
from clearway.jobs.processes import Processes
from clearway.jobs.progress import Tally, clock
from clearway.jobs.store import DRAFTS, Store, draft_name
from clearway.jobs.workers import Done, InProcess, Limits, Task, Workers


def double(number: int) -> int:
    return 2 * number


def fail(text: str) -> None:
    raise ValueError(text)


def refuse(text: str) -> None:
    raise Error(text)


def kill_me_once(note: str) -> str:
    if not Path(note).exists():
        Path(note).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def kill_me(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def take(size: int, seconds: float) -> int:
    """Takes memory for a while."""
    taken = b"x" * size
    time.sleep(seconds)
    return len(taken)


def pid(_: int) -> int:
    time.sleep(0.01)
    return os.getpid()


def contents(store: Store) -> dict[str, bytes]:
    path = store.get("abc")
    assert path is not None
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name != "entry.json"}


def results(workers: Workers, tasks: list[Task]) -> dict[str, Done]:
    return {done.task.name: done for done in workers.run(tasks)}


@pytest.mark.parametrize("count", [1, 2])
def test_every_task_is_done_and_an_error_is_that_of_its_task(count: int) -> None:
    workers: Workers = Processes(count) if count > 1 else InProcess()
    tasks = [Task(f"{number}", double, (number,), weight=number) for number in range(50)]
    found = results(workers, [*tasks, Task("bad", fail, ("two\nlines",)), Task("ours", refuse, ("a: b",))])
    assert {name: done.result for name, done in found.items() if not done.failure} == {
        f"{number}": 2 * number for number in range(50)
    }
    bad, ours = found["bad"].failure, found["ours"].failure
    assert bad is not None
    assert (bad.message, "in fail" in bad.where) == ("ValueError: two lines", True)
    assert ours is not None
    assert (ours.message, ours.where) == ("a: b", "")
    workers.close()


def test_workers_are_kept_and_do_many_tasks() -> None:
    workers = Processes(2)
    tasks = [Task(f"{number}", pid, (number,)) for number in range(20)]
    first, second = ({done.result for done in workers.run(tasks)} for _ in range(2))
    workers.close()
    assert first == second
    assert len(first) == 2
    assert os.getpid() not in first


def test_a_task_whose_worker_is_killed_is_tried_again_and_then_fails_alone(tmp_path: Path) -> None:
    workers = Processes(2)
    others = [Task(f"{number}", double, (number,)) for number in range(20)]
    once = Task("once", kill_me_once, (str(tmp_path / "note"),))
    found = results(workers, [Task("always", kill_me, (1,)), once, *others])
    workers.close()
    assert found["once"].result == "alive"
    failure = found["always"].failure
    assert failure is not None
    assert "SIGKILL" in failure.message
    assert "tried 2 times" in failure.message
    assert [found[task.name].result for task in others] == [2 * number for number in range(20)]


@pytest.mark.parametrize("count", [1, 2])
def test_a_task_that_exceeds_a_limit_is_ended_and_fails_alone(count: int) -> None:
    workers = Processes(count)
    large = Task("large", take, (500_000_000, 600), limits=Limits(memory_bytes=200_000_000))
    slow = Task("slow", time.sleep, (600,), limits=Limits(wall_s=0.5))
    others = [Task(f"{number}", double, (number,), limits=Limits(memory_bytes=200_000_000)) for number in range(20)]
    found = results(workers, [large, *others, slow])
    workers.close()
    failures = {name: done.failure.message for name, done in found.items() if done.failure}
    assert failures == {
        "large": "it took more than 200 MB of memory, its limit",
        "slow": "it took more than 0.5 s, the limit of its time",
    }
    assert [found[task.name].result for task in others] == [2 * number for number in range(20)]


def keep_memory(size: int) -> None:
    KEPT.append(b"x" * size)


#: Memory that a worker does not give back.
KEPT: list[bytes] = []


def test_a_task_does_not_fail_for_the_memory_of_those_before_it() -> None:
    workers = Processes(1)
    limits = Limits(memory_bytes=200_000_000)
    tasks = [Task(f"{number}", keep_memory, (90_000_000,), limits=limits) for number in range(3)]
    last = Task("last", take, (90_000_000, 1.0), limits=limits)
    found = results(workers, [*tasks, last])
    workers.close()
    assert {name: done.failure for name, done in found.items()} == dict.fromkeys(["0", "1", "2", "last"])
    assert found["last"].result == 90_000_000


def test_a_worker_is_what_the_system_ends_first_where_memory_runs_out() -> None:
    workers = Processes(1)
    score = Task("score", Path.read_text, (Path("/proc/self/oom_score_adj"),))
    assert results(workers, [score])["score"].result.strip() == "500"
    workers.close()
    assert Path("/proc/self/oom_score_adj").read_text().strip() != "500"


def test_a_round_that_is_left_early_leaves_no_task_behind() -> None:
    workers = Processes(2)
    round_ = workers.run([Task(f"{number}", time.sleep, (0.001 if number < 5 else 60,)) for number in range(10)])
    began = time.perf_counter()
    next(round_)
    round_.close()
    assert results(workers, [Task("after", double, (4,))])["after"].result == 8
    workers.close()
    assert time.perf_counter() - began < 30


def test_workers_need_no_guarded_main_program(tmp_path: Path) -> None:
    program = tmp_path / "mine.py"
    program.write_text(
        "from clearway.jobs.processes import Processes\nfrom clearway.jobs.workers import Task\n"
        "import math\nworkers = Processes(2)\n"
        "print(sorted(done.result for done in workers.run([Task(str(n), math.sqrt, (n,)) for n in (1, 4)])))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[1.0, 2.0]\n", "")


def test_a_store_gives_back_what_was_put_and_the_first_writer_wins(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert store.get("abc") is None
    store.put_files("abc", {"a": b"1", "b": b""})
    store.put_files("abc", {"a": b"2"})
    assert contents(store) == {"a": b"1", "b": b""}
    assert "abc" in store
    assert list((store.folder / DRAFTS).iterdir()) == []


@pytest.mark.parametrize("name", ["a", "entry.json"])
def test_a_damaged_entry_is_as_one_that_is_absent(name: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.put_files("abc", {"a": b"content"}) / name
    for bit in range(8):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1 << bit
        path.write_bytes(content)
        assert store.get("abc") is None
        assert "abc" not in store
        store.put_files("abc", {"a": b"content"})
        assert contents(store) == {"a": b"content"}


def test_a_damaged_entry_is_replaced_by_a_new_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (store.put_files("abc", {"a": b"content"}) / "a").write_bytes(b"else")
    store.put_files("abc", {"a": b"content"})
    assert contents(store) == {"a": b"content"}


def test_drafts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = "from clearway.jobs.store import draft_name; print(draft_name())"
    dead = subprocess.run([sys.executable, "-c", made], capture_output=True, text=True, check=True).stdout.strip()
    mine, other = draft_name(), "elsewhere@1@2@3"
    for name in (dead, mine, other):
        (tmp_path / DRAFTS / name).mkdir(parents=True)
        (tmp_path / f"{files.DRAFT}table.csv@{name}").touch()
    store.clean()
    files.clean(tmp_path)
    assert {path.name for path in (tmp_path / DRAFTS).iterdir()} == {mine, other}
    assert len(list(tmp_path.glob(f"{files.DRAFT}*"))) == 2


def test_drafts_of_a_process_that_ended_unnoticed_are_removed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = "from clearway.jobs.store import draft_name; print(draft_name(), flush=True)"
    # Nobody asks how the process ended, so the system keeps it in its table, as a zombie, until the test does.
    with subprocess.Popen([sys.executable, "-c", made], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.read().strip()  # All that it writes; it is about to end then.
        (tmp_path / DRAFTS / name).mkdir(parents=True)
        deadline = time.monotonic() + 10
        while list((tmp_path / DRAFTS).iterdir()) and time.monotonic() < deadline:
            store.clean()
        assert list((tmp_path / DRAFTS).iterdir()) == []
        assert process.returncode is None


def test_a_store_that_cannot_be_written_says_so_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Error, match="can't keep this result: Not a directory"):
        Store(tmp_path / "file").put_files("abc", {"a": b""})


def test_time_left_follows_from_the_weights_that_are_done() -> None:
    tally = Tally(total=10)
    tasks = [Task("large", double, weight=3), Task("small", double, weight=1)]
    tally.start(tasks)
    assert (tally.kept, tally.left_s) == (8, None)
    tally.began -= 6
    tally.count(Done(tasks[0]))
    assert tally.left_s == pytest.approx(2, abs=0.1)
    assert str(tally) == "9/10, 8 kept from before, 0:02 left"
    assert [clock(seconds) for seconds in (5, 125, 3725)] == ["0:05", "2:05", "1:02:05"]


CLAIM = """
import sys, time
from clearway.jobs.store import Store
store = Store(sys.argv[1])
with store.claim("abc"):
    print("mine", flush=True)
    time.sleep(float(sys.argv[2]))
    store.put_files("abc", {"a": b"theirs"})
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_key_is_worked_on_by_one_process_at_a_time(killed: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLAIM, str(tmp_path), "1000" if killed else "0.5"]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "mine\n"
    store = Store(tmp_path)
    if killed:
        other.kill()
    with store.claim("abc"):
        found = "abc" in store
    other.wait()
    other.stdout.close()
    assert found is not killed
