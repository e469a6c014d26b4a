"""Folders of sweeps: no damage is misread, none is replaced by another sweep, each runs elsewhere, and when killed."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, Cli

import clearway
from clearway.sweeps import copies, record, saved
from clearway.sweeps import run as running

SWEEP = """\
scenario = "scenarios/small.toml"
name = "four"

[axes]
transport = ["expresspass", "dctcp"]
"traffic.burst.size" = ["64 KB", "500 KB"]
"""
#: A scenario without a name, which names two files of one name.
LISTED = """\
transport = "dctcp"
topology = {kind = "file", path = "net/list.toml"}

[[traffic]]
name = "replay"
kind = "file"
path = "../list.csv"
"""
NETWORK = """\
rate = "10 Gbps"
delay = "1 us"
hosts = 2
switches = 1

[[link]]
a = "h0"
b = "s0"

[[link]]
a = "h1"
b = "s0"
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def sweep_file(place: Path, text: str = SWEEP) -> Path:
    """A sweep file, and the scenario that it names in a folder beside it."""
    write(place / "scenarios" / "small.toml", SMALL)
    return write(place / "four.toml", text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> clearway.Sweep:
    place = tmp_path_factory.mktemp("whole")
    return clearway.sweep(sweep_file(place), out=place / "out" / "four", processes=1)


def same(one: clearway.Sweep, other: clearway.Sweep) -> bool:
    """True if two sweeps are equal in all that they say, the folder apart."""
    tables = all(
        getattr(one, name).equals(getattr(other, name), null_equal=True)
        for name in ("frame", "traffic", "sizes", "costs", "failures")
    )
    names = ("name", "axes", "described", "points", "interrupted")
    return tables and all(getattr(one, name) == getattr(other, name) for name in names)


def flipped(path: Path, chance: random.Random) -> bytes:
    """Flips a bit of a file, and returns what it was."""
    content = path.read_bytes()
    place = chance.randrange(len(content))
    changed = bytearray(content)
    changed[place] ^= 1 << chance.randrange(8)
    path.unlink()  # Not through a hard link, by which the store has the file too.
    path.write_bytes(changed)
    return content


def told(work: Callable[[], object]) -> str | object:
    """What some work returns, or the one line that it is refused with."""
    try:
        return work()
    except clearway.Error as error:
        return str(error)


# ---- damage

#: Files of a folder whose damage is told when the tables are read.
TABLES = [
    *("runs.parquet", "runs.csv", "traffic.parquet", "traffic.csv", "fct_by_size.parquet", "fct_by_size.csv"),
    *("costs.csv", "sweep.toml", "sweep.json"),
]
FLIPS = [8, pytest.param(1500, marks=pytest.mark.full)]


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("name", TABLES)
def test_a_flipped_bit_in_a_file_of_a_sweep_is_refused_in_a_line_and_never_misread(
    name: str, flips: int, whole: clearway.Sweep, tmp_path: Path
) -> None:
    place, chance = tmp_path / "four", random.Random(26)
    shutil.copytree(whole.out, place)
    refused = 0
    for _ in range(flips):
        before = flipped(place / name, chance)
        found = told(lambda: clearway.load_sweep(place))
        if isinstance(found, str):
            assert found.startswith(f"{place}: can't read the sweep: {name}")
            assert "damaged" in found
            assert "run the same sweep again" in found
            assert "\n" not in found
            refused += 1
        else:
            assert isinstance(found, clearway.Sweep)
            assert same(found, whole)
        (place / name).write_bytes(before)
    assert refused == flips or name == "sweep.json"  # Blanks in JSON mean nothing.
    assert refused > 0.9 * flips
    assert same(clearway.load_sweep(place), whole)


@pytest.mark.parametrize("flips", FLIPS)
def test_a_flipped_bit_in_the_copy_of_a_sweep_file_is_not_run(
    flips: int, whole: clearway.Sweep, tmp_path: Path
) -> None:
    place, chance = tmp_path / "four", random.Random(27)
    shutil.copytree(whole.out, place)
    content = copies.read(place / "sweep.toml").content
    for name in ("sweep.toml", "sweep.json"):
        for _ in range(flips):
            before = flipped(place / name, chance)
            found = told(lambda: copies.read(place / "sweep.toml").content)
            assert found == content if not isinstance(found, str) else f"sweep: {name} is damaged" in found
            assert isinstance(found, str) or name == "sweep.json"
            (place / name).write_bytes(before)


@pytest.mark.parametrize("flips", [3, pytest.param(1500, marks=pytest.mark.full)])
def test_a_flipped_bit_in_a_killed_sweep_is_refused_in_a_line_and_never_misread(
    flips: int, whole: clearway.Sweep, tmp_path: Path
) -> None:
    place, chance = tmp_path / "four", random.Random(28)
    shutil.copytree(whole.out, place)
    kept = record.read(place)
    kept.sealed(place, ["sweep.toml"]).write(place)
    partial = clearway.load_sweep(place)
    assert partial.frame.equals(whole.frame, null_equal=True)
    one = place / "runs" / kept.points[1].folder
    for path in (place / "sweep.json", *sorted(one.iterdir())):
        for _ in range(flips):
            before = flipped(path, chance)
            found = told(lambda: clearway.load_sweep(place))
            if isinstance(found, str):
                assert path.name in found
                assert "\n" not in found
            else:
                assert isinstance(found, clearway.Sweep)
                assert same(found, partial)
            path.write_bytes(before)


def test_the_report_of_a_damaged_sweep_is_a_line_with_the_code_of_a_damaged_run(
    whole: clearway.Sweep, cli: Cli, tmp_path: Path
) -> None:
    shutil.copytree(whole.out, tmp_path / "four")
    run = next((tmp_path / "four" / "runs").iterdir())
    flipped(tmp_path / "four" / "runs.parquet", random.Random(1))
    flipped(run / "flows.parquet", random.Random(1))
    sweep, of_run = cli("report", "four"), cli("report", run)
    assert sweep.returncode == of_run.returncode == 2
    assert sweep.stderr == (
        "clearway: four: can't read the sweep: runs.parquet is damaged or was edited (its hash is not that in "
        "sweep.json); run the same sweep again, which keeps the points that it has and writes the rest anew\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_gone_and_one_of_an_older_version_are_told(whole: clearway.Sweep, tmp_path: Path) -> None:
    place = tmp_path / "four"
    shutil.copytree(whole.out, place)
    (place / "costs.csv").unlink()
    assert "costs.csv: No such file or directory; run the same sweep again" in str(told(lambda: saved.read(place)))
    (place / "sweep.json").unlink()
    assert "sweep.json is missing" in str(told(lambda: clearway.load_sweep(place)))


def test_the_same_sweep_again_mends_what_was_damaged_but_the_record_only_by_force(tmp_path: Path) -> None:
    path, out = sweep_file(tmp_path), tmp_path / "out" / "four"
    first = clearway.sweep(path, out=out, processes=1)
    for name in ("runs.parquet", "costs.csv", "sweep.toml"):
        flipped(out / name, random.Random(2))
    assert same(clearway.sweep(path, out=out, processes=1), first)
    assert same(clearway.load_sweep(out), first)
    flipped(out / "sweep.json", random.Random(2))
    refused = str(told(lambda: clearway.sweep(path, out=out, processes=1)))
    assert refused.startswith(f"{out}: can't tell which sweep this folder holds: sweep.json is damaged")
    assert "or use --force" in refused
    clearway.sweep(path, out=out, processes=1, force=True)
    assert same(clearway.load_sweep(out), first)


# ---- another sweep in the folder


def test_a_changed_scenario_does_not_take_the_place_of_runs_but_by_force(cli: Cli, tmp_path: Path) -> None:
    path = sweep_file(tmp_path)
    assert cli("sweep", path, "-q").returncode == 0
    before = clearway.load_sweep(tmp_path / "out" / "four")
    write(tmp_path / "scenarios" / "small.toml", SMALL.replace("rounds = 2", "rounds = 1"))
    for more in ([], ["--dry-run"]):
        done = cli("sweep", path, *more)
        assert done.returncode == 2
        assert done.stderr == (
            "clearway: out/four: holds another sweep (at the point transport=expresspass,size=64-KB: "
            "traffic[0].rounds = 2 there, 1 here; in all 4 of the points there differ or are left out); "
            "name another folder with --out, or use --force\n"
        )
    assert same(clearway.load_sweep(tmp_path / "out" / "four"), before)
    assert cli("sweep", path, "--force", "-q").returncode == 0
    after = clearway.load_sweep(tmp_path / "out" / "four")
    assert after.frame["hash"].to_list() != before.frame["hash"].to_list()
    assert cli("sweep", path, "-q").returncode == 0


def test_more_values_of_an_axis_go_on_and_fewer_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out" / "four"
    clearway.sweep(sweep_file(tmp_path), out=out, processes=1)
    more = sweep_file(tmp_path, SWEEP.replace('"500 KB"', '"500 KB", "1 KB"'))
    assert clearway.sweep(more, out=out, processes=1).frame.height == 6
    refused = str(told(lambda: clearway.sweep(sweep_file(tmp_path), out=out, processes=1)))
    assert "the point transport=expresspass,size=1-KB is not in this sweep" in refused
    assert "in all 2 of the points there" in refused
    assert clearway.load_sweep(out).frame.height == 6


def test_a_file_of_the_same_name_in_the_folder_is_not_replaced(tmp_path: Path) -> None:
    path = sweep_file(tmp_path / "mine").rename(tmp_path / "mine" / "sweep.toml")
    refused = str(told(lambda: clearway.sweep(path, out=tmp_path / "mine", processes=1)))
    assert "holds something other than results" in refused
    assert path.read_text() == SWEEP


# ---- elsewhere


def hashes(found: clearway.Sweep) -> list[str]:
    return list(found.frame["hash"])


def test_a_copied_sweep_runs_where_its_origin_is_gone(tmp_path: Path) -> None:
    here = tmp_path / "here"
    first = clearway.sweep(sweep_file(here), out=here / "out" / "four", processes=1)
    shutil.copytree(first.out, tmp_path / "there" / "four")
    shutil.rmtree(here)
    assert same(clearway.load_sweep(tmp_path / "there" / "four"), first)
    copy = tmp_path / "there" / "four" / "sweep.toml"
    assert str(tmp_path) not in copy.read_text()
    again = clearway.sweep(copy, out=tmp_path / "anew" / "four", processes=1)
    assert (again.name, hashes(again)) == ("four", hashes(first))
    assert again.frame.drop("folder").equals(first.frame.drop("folder"), null_equal=True)
    shutil.rmtree(tmp_path / "anew")
    write(tmp_path / "alone" / "sweep.toml", copy.read_text())
    alone = clearway.sweep(tmp_path / "alone" / "sweep.toml", out=tmp_path / "anew" / "four", processes=1)
    assert hashes(alone) == hashes(first)


def test_a_copied_sweep_has_the_files_that_scenario_and_axes_name(tmp_path: Path) -> None:
    here = tmp_path / "here"
    write(here / "scenarios" / "own.toml", LISTED)
    write(here / "scenarios" / "net" / "list.toml", NETWORK)
    write(here / "list.csv", "src,dst,start_ns,size_bytes\nh0,h1,0,1000\n")
    more = write(here / "more" / "list.csv", "src,dst,start_ns,size_bytes\nh1,h0,0,90000\n")
    axes = f'"traffic.replay.path" = ["../list.csv", "{more}"]\ntransport = ["dctcp", "cubic"]'
    path = write(here / "lists.toml", f'scenario = "scenarios/own.toml"\n[axes]\n{axes}\n')
    first = clearway.sweep(path, out=here / "out" / "lists", processes=1)
    assert len({*hashes(first)}) == 4
    assert sorted(one.name for one in (first.out / "files").iterdir()) == ["2-list.csv", "list.csv", "list.toml"]
    shutil.copytree(first.out, tmp_path / "there")
    shutil.rmtree(here)
    copy = tmp_path / "there" / "sweep.toml"
    assert str(tmp_path) not in copy.read_text()
    again = clearway.sweep(copy, out=tmp_path / "anew" / "lists", processes=1)
    assert hashes(again) == hashes(first)
    assert [one.load(transport="cubic", path=one.frame["path"][3]).name for one in (again,)] == ["own"]
    # In its own folder it is the same sweep, although the files lie elsewhere, and goes on.
    inside = clearway.sweep(copy, out=tmp_path / "there", processes=1)
    assert hashes(inside) == hashes(first)
    flipped(tmp_path / "there" / "files" / "2-list.csv", random.Random(3))
    damaged = str(told(lambda: clearway.sweep(copy, out=tmp_path / "once-more", processes=1)))
    assert "files/2-list.csv is damaged or was edited" in damaged


def test_an_edited_copy_is_refused_in_its_folder_and_runs_elsewhere(whole: clearway.Sweep, tmp_path: Path) -> None:
    place = tmp_path / "four"
    shutil.copytree(whole.out, place)
    edited = write(place / "sweep.toml", (place / "sweep.toml").read_text().replace("500 KB", "5 KB"))
    assert "to change it, copy it to another folder" in str(told(lambda: copies.read(edited)))
    other = write(tmp_path / "other" / "sweep.toml", edited.read_text())
    assert clearway.sweep(other, out=tmp_path / "out" / "it", processes=1).frame.height == 4


@pytest.mark.parametrize("text", ["", 'name = "called"\n'], ids=["without a name", "with a name"])
def test_the_copy_of_a_sweep_has_the_same_points_to_the_last_key(text: str, tmp_path: Path) -> None:
    write(tmp_path / "scenarios" / "small.toml", text + SMALL.replace('name = "small"\n', ""))
    path = write(tmp_path / "four.toml", SWEEP)
    plan = running.Plan.of(copies.read(path), tmp_path / "out", None)
    write(tmp_path / "copy.toml", copies.contents(plan.spec, plan.points)["sweep.toml"].decode())
    again = running.Plan.of(copies.read(tmp_path / "copy.toml"), tmp_path / "out", None)
    assert [point.key for point in again.points] == [point.key for point in plan.points]


# ---- killed sweeps


def until(path: Path, is_there: Callable[[Path], Any]) -> None:
    deadline = time.monotonic() + 60
    while not is_there(path) and time.monotonic() < deadline:
        time.sleep(0.002)


def test_a_killed_sweep_is_read_as_far_as_it_came_and_goes_on(cli: Cli, tmp_path: Path) -> None:
    many = SWEEP.replace('name = "four"\n', "") + "seed = {from = 1, to = 5}\n"
    path, out = sweep_file(tmp_path, many), tmp_path / "out" / "four"
    command = [sys.executable, "-m", "clearway", "sweep", str(path), "-q", "-j", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    until(out / "runs", lambda runs: runs.is_dir() and len([*runs.iterdir()]) > 3)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (out / "runs.parquet").exists()
    partial = clearway.load_sweep(out)
    assert 3 <= partial.frame.height < 20
    assert (partial.points, partial.missing) == (20, 20 - partial.frame.height)
    assert partial.interrupted
    report = cli("report", out, "--out", "page.html")
    assert report.returncode == 0, report.stderr
    words = f"{partial.missing} of 20 points are missing: the sweep was ended before them, or still runs."
    assert words in report.stderr
    assert words in (tmp_path / "page.html").read_text("utf-8")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    full = clearway.load_sweep(out)
    assert (full.frame.height, full.missing, full.interrupted) == (20, 0, False)
    calm = clearway.sweep(path, out=tmp_path / "calm" / "four", processes=1)
    assert (out / "runs.parquet").read_bytes() == (calm.out / "runs.parquet").read_bytes()
    assert partial.frame.equals(full.frame.filter(full.frame["folder"].is_in(partial.frame["folder"].implode())))


def test_a_sweep_that_was_interrupted_says_how_many_points_are_missing(tmp_path: Path) -> None:
    def stop(tally: Any) -> None:
        if tally.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(clearway.Interrupted) as caught:
        clearway.sweep(sweep_file(tmp_path), out=tmp_path / "out" / "four", processes=1, progress=stop)
    assert isinstance(caught.value.partial, clearway.Sweep)
    again = clearway.load_sweep(tmp_path / "out" / "four")
    assert same(again, caught.value.partial)
    assert (again.frame.height, again.missing, again.points) == (2, 2, 4)
    assert "2 missing" in repr(again)


def test_runs_of_an_earlier_sweep_are_no_points_of_a_killed_one(whole: clearway.Sweep, tmp_path: Path) -> None:
    place = tmp_path / "four"
    shutil.copytree(whole.out, place)
    kept = record.read(place)
    shutil.rmtree(place / "runs" / kept.points[0].folder)
    shutil.copytree(place / "runs" / kept.points[1].folder, place / "runs" / kept.points[0].folder)
    kept.sealed(place, ["sweep.toml"]).write(place)
    partial = clearway.load_sweep(place)
    assert partial.frame["folder"].to_list() == whole.frame["folder"].to_list()[1:]
    assert partial.missing == 1


def published(out: Path) -> int:
    """The number of points whose results are in the folder of a sweep."""
    return len([*(out / "runs").glob("[!.]*")])


@pytest.mark.full
def test_25_kills_of_a_sweep_on_one_process_end_in_the_same_tables(tmp_path: Path) -> None:
    """Half of the kills come at a random time, which may be before the first point, and half after so many new points.

    The second are what makes the sweep get on however slow the machine is; times alone may all be too short for it.
    """
    chance, kills, rows = random.Random(29), 0, list[int]()
    path = sweep_file(tmp_path, SWEEP + "seed = {from = 1, to = 30}\n")
    out = tmp_path / "wild" / "four"
    command = [sys.executable, "-m", "clearway", "sweep", str(path), "-q", "-j", "1", "--out"]
    subprocess.run([*command, tmp_path / "calm" / "four"], check=True, timeout=600)
    calm = clearway.load_sweep(tmp_path / "calm" / "four")
    while kills < 25:
        asked = published(out) + chance.randrange(1, 12) if kills % 2 else 0
        process = subprocess.Popen([*command, out], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while process.poll() is None and published(out) < asked and time.monotonic() < deadline:
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.1 if asked else 2))
        if process.poll() is None:
            process.kill()
            kills += 1
        if process.wait() == 0:
            shutil.rmtree(tmp_path / "wild")
        elif (out / "sweep.json").exists():
            partial = clearway.load_sweep(out)
            found = calm.frame["folder"].is_in(partial.frame["folder"].implode())
            assert partial.frame.equals(calm.frame.filter(found), null_equal=True)
            assert partial.frame.height >= asked
            rows.append(partial.frame.height)
    subprocess.run([*command, out], check=True, timeout=600)
    print(f"{kills} kills; the folders that they left could be read, and had {rows} of {calm.points} points")
    assert len({*rows}) > 10
    for name in ("runs.parquet", "runs.csv", "fct_by_size.parquet", "fct_by_size.csv", "sweep.toml"):
        assert (out / name).read_bytes() == (calm.out / name).read_bytes()
