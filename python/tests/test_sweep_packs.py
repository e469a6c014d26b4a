"""Sweeps of many small points: their results go into packs, of which no kill and no damage makes other numbers."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clearway
from clearway import packs
from clearway.jobs import files
from clearway.jobs.workers import InProcess
from clearway.scenario import named
from clearway.sweeps import copies, frame, packing, record
from clearway.sweeps import run as running
from clearway.tables import TABLES, Held

SWEEP = """\
scenario = "small.toml"
name = "many"

[axes]
transport = ["expresspass", "dctcp"]
"traffic.burst.size" = ["64 KB", "8 KB"]
seed = {from = 1, to = 3}
"""
POINTS = 12


def sweep_file(place: Path, text: str = SWEEP) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "small.toml").write_text(SMALL)
    path = place / "many.toml"
    path.write_text(text)
    return path


def packed(place: Path, text: str = SWEEP, **more: Any) -> clearway.Sweep:
    """The sweep in `place/out/many`, with its results in packs."""
    return clearway.sweep(sweep_file(place, text), out=place / "out" / "many", **more)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has points run in the process of the test, and packs begin at a few points."""
    monkeypatch.setattr(running, "workers", lambda *_: InProcess())
    monkeypatch.setattr(packing, "POINTS", 4)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the points that were run."""
    found: list[str] = []
    real = running.pack

    def pack(resolved: str, key: str, store: str) -> Any:
        found.append(key)
        return real(resolved, key, store)

    monkeypatch.setattr(running, "pack", pack)
    return found


def written(out: Path) -> dict[str, bytes]:
    """The files of a sweep's folder that are the same whenever it was run."""
    found = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    return {name: content for name, content in found.items() if name not in ("costs.csv", "sweep.json")}


def packs_of(out: Path) -> list[Path]:
    return packs.packs_in(out / packs.PACKS)


def spoil(pack: Path, at: float, keep: bool) -> None:
    """Cuts a pack short, as a power failure does, or flips a bit of it."""
    content = bytearray(pack.read_bytes())
    place = int(at * (len(content) - 1))
    if keep and content:
        content[place] ^= 4
    pack.write_bytes(content if keep else content[:place])


@pytest.mark.usefixtures("here")
def test_a_sweep_of_packs_has_the_tables_of_a_sweep_of_folders_to_the_last_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = packed(tmp_path / "packs")
    assert len(packs_of(one.out)) == 1
    assert not (one.out / packs.RUNS).exists()
    monkeypatch.setattr(packing, "POINTS", 10**9)
    other = packed(tmp_path / "folders")
    assert packs_of(other.out) == []
    assert len([*(other.out / packs.RUNS).iterdir()]) == POINTS
    assert written(one.out) == written(other.out)
    for place, there in zip(one.runs, other.runs, strict=True):
        run, stored = clearway.load(place), clearway.load(there)
        assert all(getattr(run, table).equals(getattr(stored, table)) for table in TABLES)
        assert (run.hash, run.scenario, run.described) == (stored.hash, body(stored.scenario), stored.described)
        assert json.dumps(frame.measure(run)) == json.dumps(frame.measure(stored))  # NaN is no equal of itself.
        assert (run.label, run.transports, run.findings) == (stored.label, stored.transports, stored.findings)


def body(scenario: str) -> str:
    """A scenario without its first line, which says the version."""
    return scenario.partition("\n")[2]


@pytest.mark.usefixtures("here")
def test_a_point_in_a_pack_is_saved_as_the_folder_that_a_run_of_it_writes(tmp_path: Path) -> None:
    found = packed(tmp_path)
    run = found.load(transport="dctcp", size_bytes=8000, seed=2)
    place = run.save(tmp_path / "saved")
    calm = clearway.run(run.scenario).save(tmp_path / "calm")
    for table in TABLES:
        assert (place / f"{table}.parquet").read_bytes() == (calm / f"{table}.parquet").read_bytes()
    assert clearway.load(place).hash == run.hash == clearway.load(calm).hash


def test_no_data_frame_is_made_of_a_small_run(tmp_path: Path) -> None:
    for kind in ('kind = "poisson"\nload = 0.5\nflows = 8', 'kind = "incast"\nsenders = 6'):
        text = SMALL.partition("[[traffic]]")[0] + f'[[traffic]]\nname = "burst"\nsize = "8 KB"\n{kind}\n'
        plan = running.Plan.of(copies.read(with_scenario(tmp_path, text)), tmp_path / "out", tmp_path / "store")
        run, result = running.ran(plan.points[0].resolved, plan.points[0].key)
        assert result is not None
        assert all(isinstance(run.stored(table), Held) for table in TABLES)


def with_scenario(place: Path, text: str) -> Path:
    path = sweep_file(place)
    (place / "small.toml").write_text(text)
    return path


@pytest.mark.usefixtures("here")
def test_results_are_found_in_the_store_and_without_it_in_the_folder(tmp_path: Path, ran: list[str]) -> None:
    first = written(packed(tmp_path).out)
    assert len(ran) == POINTS
    shutil.rmtree(tmp_path / "out" / ".store")
    assert written(packed(tmp_path).out) == first
    packed(tmp_path)
    assert len(ran) == POINTS
    again = clearway.sweep(tmp_path / "many.toml", out=tmp_path / "moved", store=tmp_path / "out" / ".store")
    assert len(ran) == 2 * POINTS  # The store was removed, and the folder is another.
    assert written(again.out) == first
    third = clearway.sweep(tmp_path / "many.toml", out=tmp_path / "third", store=tmp_path / "out" / ".store")
    assert len(ran) == 2 * POINTS
    assert written(third.out) == first


@pytest.mark.usefixtures("here")
def test_runs_in_folders_are_kept_where_the_sweep_grows_into_packs(tmp_path: Path, ran: list[str]) -> None:
    small = SWEEP.replace("to = 3", "to = 1").replace('"64 KB", "8 KB"', '"64 KB"')
    assert packed(tmp_path, small).frame.height == 2
    assert ran == []
    grown = packed(tmp_path)
    assert len(ran) == POINTS - 2
    assert len([*(grown.out / packs.RUNS).iterdir()]) == 2
    assert written(grown.out) == written(packed(tmp_path / "calm").out)
    assert [run.hash for run in map(clearway.load, grown.runs)] == grown.frame["hash"].to_list()


@pytest.mark.usefixtures("here")
def test_another_sweep_does_not_take_the_place_of_packs(tmp_path: Path) -> None:
    packed(tmp_path)
    with pytest.raises(clearway.Error, match=r"holds another sweep \(at the point .*topology\.hosts = .* there"):
        packed(tmp_path, SWEEP + "\n[set]\n'topology.hosts' = 8\n")


@pytest.mark.usefixtures("here")
def test_an_interrupted_sweep_keeps_what_was_done(tmp_path: Path, ran: list[str]) -> None:
    def stop(tally: Any) -> None:
        if tally.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(clearway.Interrupted):
        packed(tmp_path, progress=stop)
    partial = clearway.load_sweep(tmp_path / "out" / "many")
    assert (partial.frame.height, partial.missing) == (5, POINTS - 5)
    assert packed(tmp_path).frame.height == POINTS
    assert len(ran) == POINTS


@pytest.mark.usefixtures("here")
def test_a_full_disk_is_the_failure_of_the_group_that_it_meets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.replace

    def full(path: Path, content: bytes, *, durable: bool = False) -> None:
        if path.suffix == packs.END:
            raise clearway.Error(f"{path}: can't be written: No space left on device")
        real(path, content, durable=durable)

    monkeypatch.setattr(files, "replace", full)
    monkeypatch.setattr(packing, "GROUP", 4)
    found = packed(tmp_path)
    assert (found.frame.height, found.failures.height) == (0, POINTS)
    assert all("No space left on device" in text for text in found.failures["error"])
    monkeypatch.setattr(files, "replace", real)
    assert packed(tmp_path).frame.height == POINTS
    assert len(packs_of(found.out)) == 3


@pytest.mark.usefixtures("here")
def test_a_result_is_on_disk_soon_after_it_came_though_none_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "COMMIT_S", 0.05)
    plan = running.Plan.of(copies.read(sweep_file(tmp_path)), tmp_path / "out", tmp_path / "store")
    _, result = running.ran(plan.points[0].resolved, plan.points[0].key)
    assert result is not None
    plan.accept(0, result)
    deadline = time.monotonic() + 30
    while not packs_of(tmp_path / "out") and time.monotonic() < deadline:
        time.sleep(0.005)
    assert [packs.keys(pack) for pack in packs_of(tmp_path / "out")] == [[plan.points[0].key]]


@pytest.mark.usefixtures("here")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1), st.booleans()), max_size=2), st.booleans())
def test_a_torn_or_damaged_group_is_run_again_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[str], damages: list[tuple[int, float, bool]], bare: bool
) -> None:
    place = tmp_path / f"{random.getrandbits(64):x}"
    monkeypatch.setattr(packing, "GROUP", 4)
    found = packed(place)
    whole, there = written(found.out), packs_of(found.out)
    assert len(there) == 3
    before = [(packs.keys(pack), pack.read_bytes()) for pack in there]
    for number, at, keep in damages:
        spoil(there[number], at, keep)  # The store has the same file by another name.
    changed = [pack.read_bytes() != content for pack, (_, content) in zip(there, before, strict=True)]
    lost = [key for is_changed, (keys, _) in zip(changed, before, strict=True) if is_changed for key in keys]
    if bare:  # As after a kill, which leaves no tables.
        record.read(found.out).sealed(found.out, ["sweep.toml"]).write(found.out)
        assert clearway.load_sweep(found.out).missing == len(lost)
    again = packed(place)
    assert sorted(ran[-len(lost) :] if lost else []) == sorted(lost)
    assert written(again.out) == whole


@pytest.mark.usefixtures("here")
def test_a_damaged_pack_is_a_line_that_says_so(tmp_path: Path) -> None:
    found = packed(tmp_path)
    pack = packs_of(found.out)[0]
    key = packs.keys(pack)[0]
    spoil(pack, 0.5, keep=True)
    with pytest.raises(ValueError, match="is damaged or was edited"):
        packs.fields_of(pack, key)
    with pytest.raises(clearway.Error, match="no results of a run here"):
        clearway.load(found.runs[0])
    with pytest.raises(clearway.Error, match="no results of a run here"):
        clearway.load(found.out / "runs" / "no-such-point")


#: A sweep of 48 points, and the command, for which a pack has ten of them.
LONGER = SWEEP.replace("to = 3", "to = 12")
IN_TENS = """\
from clearway.start import main
from clearway.sweeps import packing
packing.POINTS, packing.GROUP = 4, 10
main()
"""


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> clearway.Sweep:
    """The longer sweep, which nothing stopped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "workers", lambda *_: InProcess())
        patch.setattr(packing, "POINTS", 4)
        return packed(tmp_path_factory.mktemp("calm"), LONGER)


@pytest.mark.parametrize(
    "stop", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["SIGKILL", "SIGINT"]
)
def test_a_sweep_that_is_stopped_goes_on_from_its_packs_and_ends_in_the_same_bytes(
    stop: signal.Signals, tmp_path: Path, calm: clearway.Sweep
) -> None:
    assert len(packs_of(calm.out)) == 1
    path, out = sweep_file(tmp_path, LONGER), tmp_path / "out" / "many"
    command = [sys.executable, "-c", IN_TENS, "sweep", str(path), "-q", "-j", "2", "--out", str(out)]
    stopped, kept = 0, [0]
    for _ in range(40):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while stopped < 2 and process.poll() is None and time.monotonic() < deadline:
            if len(packs_of(out)) > kept[-1]:
                process.send_signal(stop)
                stopped += 1
                break
            time.sleep(0.002)
        code = process.wait(120)
        there = len(packs_of(out))
        assert there >= kept[-1]
        kept.append(there)
        if code == 0:
            break
        partial = clearway.load_sweep(out)
        assert partial.interrupted
        assert 0 < partial.frame.height == sum(len(packs.keys(pack)) for pack in packs_of(out))
    assert code == 0
    assert stopped
    assert written(out) == written(calm.out)
    assert clearway.load_sweep(out).frame.equals(calm.frame)


def test_the_version_of_results_does_not_depend_on_what_the_process_did_before() -> None:
    def version() -> str:
        running.how.cache_clear()
        return running.how()

    before = version()
    frame.measure(clearway.run(SMALL))
    assert version() == before
    alone = subprocess.run(
        [sys.executable, "-c", "from clearway.sweeps.run import how; print(how())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert alone.stdout.strip() == before


TEXTS = [
    'name = "one"\nseed = {seed}\nstacks = "own"\n\n[topology]\nhosts = 4\n',
    'name = "seed = 7"\n\nseed = {seed}\n[topology]\nseed = 12\n',
    'name = "none"\n[topology]\nseed = {seed}\n',
    'seed = {seed}\n[[traffic]]\nname = "\\u0000seed\\u0000"\n',
    'name = "files"\nseed = {seed}\n[topology]\npath = "a/b"\nhash = "1f"\n',
]


@given(st.sampled_from(TEXTS), st.integers(0, 2**63 - 1))
def test_what_points_of_many_seeds_share_is_read_once_and_says_the_same(text: str, seed: int) -> None:
    text = text.replace("{seed}", str(seed))
    assert named.parsed(text) == tomllib.loads(text)
    whole = json.dumps(named.without_paths(tomllib.loads(text)), sort_keys=True, default=str)
    assert named.identity_text(text) == whole


def test_no_two_scenarios_but_those_of_two_seeds_are_one_without_their_seeds() -> None:
    one, *others = (named.without_seed(text.replace("{seed}", "5")) for text in TEXTS)
    assert one not in others
    assert one == named.without_seed(TEXTS[0].replace("{seed}", "6"))
    assert named.without_seed(TEXTS[2].replace("{seed}", "5")) != named.without_seed(TEXTS[2].replace("{seed}", "6"))
