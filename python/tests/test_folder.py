"""Result folders: replaced as a whole or not at all, verified when read, never replaced by other results in silence."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from conftest import SMALL

import clearway
from clearway import folder, scratch
from clearway.naming import safe_name
from clearway.tables import TABLES

OTHER = SMALL.replace("senders = 3", "senders = 2")


def saved(run: clearway.Run, path: Path) -> bool:
    """True if a folder holds this very run."""
    found = clearway.load(path)
    return found.hash == run.hash and found.summary == run.summary and is_same(found, run)


def is_same(one: clearway.Run, other: clearway.Run) -> bool:
    """True if the scenarios and tables of two runs are equal, and what their columns mean."""
    tables = all(getattr(one, table).equals(getattr(other, table)) for table in TABLES)
    return tables and folder.body(one.scenario) == folder.body(other.scenario) and one.described == other.described


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


@pytest.fixture(params=["exchange", "two renames"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system that exchanges folders, and one that can't."""
    if request.param == "two renames":
        monkeypatch.setattr(scratch, "exchange", lambda *_: False)
    return str(request.param)


@pytest.mark.usefixtures("system")
def test_a_run_is_replaced_by_itself_and_others_only_by_force(tmp_path: Path) -> None:
    run, other = clearway.run(SMALL), clearway.run(OTHER)
    place = tmp_path / "run"
    assert run.save(place) == run.save(place) == place
    with pytest.raises(clearway.Error, match=r"holds another run \(traffic\[0\]\.senders = 3 there, 2 here\)"):
        clearway.run(OTHER, out=place)
    assert saved(run, place)
    assert other.save(place, force=True) == place
    assert saved(other, place)
    assert names(tmp_path) == {"run"}


@pytest.mark.usefixtures("system")
def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    run, other = clearway.run(SMALL), clearway.run(OTHER)
    place = tmp_path / "run"
    (place / "thesis" / "figures").mkdir(parents=True)
    (place / "thesis" / "figures" / "one.svg").write_text("a picture")
    (place / "notes.txt").write_text("years of work")
    (place / "link").symlink_to("notes.txt")
    number = (place / "notes.txt").stat().st_ino
    with pytest.raises(clearway.Error, match="--force"):
        clearway.run(SMALL, out=place)
    run.save(place, force=True)
    (place / "trace-old.pcapng").write_text("not named in the summary: not ours")
    other.save(place, force=True)
    assert saved(other, place)
    assert (place / "thesis" / "figures" / "one.svg").read_text() == "a picture"
    assert (place / "notes.txt").read_text() == "years of work"
    assert (place / "notes.txt").stat().st_ino == number
    assert (place / "link").readlink() == Path("notes.txt")
    assert names(place) == {*folder.ALWAYS, "thesis", "notes.txt", "link", "trace-old.pcapng"}
    assert names(tmp_path) == {"run"}


def test_files_that_the_old_run_had_go_with_it(tmp_path: Path) -> None:
    run = clearway.run(SMALL)
    with folder.draft(tmp_path / "run", {"": run.scenario}) as new:
        (new / "trace-a.pcapng").write_text("packets")
        clearway.result.fill(run, new)
    assert "trace-a.pcapng" in names(tmp_path / "run")
    run.save(tmp_path / "run")
    assert names(tmp_path / "run") == folder.ALWAYS


def test_files_without_hard_links_stay_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    place = tmp_path / "run"
    clearway.run(SMALL, out=place)
    (place / "mine").mkdir()
    (place / "mine" / "notes.txt").write_text("years of work")
    (place / "top.txt").write_text("as well")
    monkeypatch.setattr(os, "link", refuse)
    clearway.run(SMALL, out=place)
    assert (place / "mine" / "notes.txt").read_text() == "years of work"
    assert (place / "top.txt").read_text() == "as well"


def test_file_systems_without_locks_serve_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    run = clearway.run(SMALL, out=tmp_path / "run")
    scratch.Scratch(tmp_path / "run")  # somebody else's, or a leftover: nobody can tell
    run.save(tmp_path / "run")
    assert saved(run, tmp_path / "run")
    assert len(names(tmp_path)) == 2
    assert folder.find_runs(tmp_path) == [tmp_path / "run"]


def test_a_failed_draft_leaves_no_trace(tmp_path: Path) -> None:
    run = clearway.run(SMALL, out=tmp_path / "run")

    def fail(scratch_folder: Path) -> None:
        (scratch_folder / "half").write_text("of it")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), folder.draft(tmp_path / "run", force=True) as new:
        fail(new)
    assert saved(run, tmp_path / "run")
    assert names(tmp_path) == {"run"}


def test_leftovers_are_no_runs_block_nothing_and_are_removed(tmp_path: Path) -> None:
    run = clearway.run(SMALL)
    left = scratch.Scratch(tmp_path / "out" / "run")
    clearway.result.fill(run, left.new)
    assert folder.find_runs(tmp_path) == []
    folder.check_target(tmp_path / "out")
    run.save(tmp_path / "out" / "run")
    assert len(names(tmp_path / "out")) == 2, "the scratch folder of a process that lives is left alone"
    os.close(left._lock)  # as the system does when a process ends
    run.save(tmp_path / "out" / "run")
    assert names(tmp_path / "out") == {"run"}
    (tmp_path / "out" / ".clearway-000000000000").mkdir()  # killed before it locked its folder
    run.save(tmp_path / "out" / "run")
    assert names(tmp_path / "out") == {"run"}


def test_a_scratch_folder_that_vanishes_or_is_closed_to_us_stops_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = clearway.run(SMALL, out=tmp_path / "run")
    gone = tmp_path / ".clearway-000000000000"
    monkeypatch.setattr(scratch, "leftovers", lambda _: [gone])
    assert saved(run, tmp_path / "run")
    gone.write_text("no folder, so that listing it is an error")
    assert saved(run, tmp_path / "run")


def test_a_folder_between_two_renames_is_brought_back(tmp_path: Path) -> None:
    place = tmp_path / "run"
    run = clearway.run(SMALL, out=place)
    left = scratch.Scratch(place)
    place.rename(left.folder / "old-1")
    os.close(left._lock)
    assert folder.find_runs(tmp_path) == [place]
    assert saved(run, place)
    assert names(tmp_path) == {"run"}


def test_an_unfinished_run_does_not_replace_a_finished_one(tmp_path: Path) -> None:
    scenario = SMALL.replace("rounds = 2", "rounds = 2000")
    finished = clearway.run(scenario, out=tmp_path / "run")
    part = clearway.run(scenario, progress=lambda _: False)
    assert part.interrupted
    assert part.save(tmp_path / "run") == tmp_path / "run-2"
    assert saved(finished, tmp_path / "run")
    assert saved(part, tmp_path / "run-2")
    assert finished.save(tmp_path / "run-2") == tmp_path / "run-2"


def test_a_comparison_is_one_unit_to_which_transports_are_added(tmp_path: Path) -> None:
    place = tmp_path / "both"
    clearway.compare(SMALL, ["expresspass", "dctcp"], out=place)
    clearway.compare(SMALL, ["cubic", "dctcp"], out=place)
    assert names(place) == {"expresspass", "dctcp", "cubic"}
    with pytest.raises(clearway.Error, match=r"both/cubic: holds another run \(seed = 7 there, 8 here\)"):
        clearway.compare(SMALL, ["dctcp"], seed=8, out=place)
    with pytest.raises(clearway.Error, match="holds runs"):
        clearway.run(SMALL, out=place)
    clearway.run(SMALL, out=tmp_path / "run")
    with pytest.raises(clearway.Error, match="holds a run"):
        clearway.compare(SMALL, ["dctcp"], out=tmp_path / "run")
    assert {clearway.load(place / name).label for name in names(place)} == {"expresspass", "dctcp", "cubic"}


def test_a_place_that_cannot_be_exchanged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (".", "..", "/proc"):
        with pytest.raises(clearway.Error, match=r"current folder|is mounted"):
            clearway.run(SMALL, out=place, force=True)


def test_flipped_bits_are_noticed(tmp_path: Path) -> None:
    run = clearway.run(SMALL, out=tmp_path)
    draw = random.Random(1)
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for bit in draw.sample(range(8 * len(whole)), 40):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            assert not loads_otherwise(tmp_path, run), f"{file.name}, bit {bit}"
        file.write_bytes(whole)
    assert saved(run, tmp_path)


def loads_otherwise(path: Path, run: clearway.Run) -> bool:
    """True if a folder loads, but not as this run, or if the error is longer than a line."""
    try:
        found = clearway.load(path)
    except clearway.Error as error:
        return "\n" in str(error)
    return found.summary != run.summary or not is_same(found, run)


def test_a_reader_that_panics_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("not\nimplemented")

    clearway.run(SMALL, out=tmp_path)
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(clearway.Error, match=r"flows\.parquet: it is not a table of Clearway's \(not implemented\)"):
        clearway.load(tmp_path)


@pytest.mark.full
def test_no_flipped_bit_gives_other_data(tmp_path: Path) -> None:
    run = clearway.run(SMALL, out=tmp_path)
    flips = 0
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for bit in range(flips % 7, 8 * len(whole), 7):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            assert not loads_otherwise(tmp_path, run), f"{file.name}, bit {bit}"
            flips += 1
        file.write_bytes(whole)
    print(f"{flips} bits flipped")
    assert flips > 805


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop("fct_s"), "they are not those that it describes"),
        (lambda table: table.with_columns(pl.col("fct_s").cast(pl.String)), "fct_s is String, not Float64"),
    ],
)
def test_columns_of_another_type_or_name_are_refused(tmp_path: Path, change: object, message: str) -> None:
    run = clearway.run(SMALL)
    assert callable(change)
    flows = change(run.flows)
    with folder.draft(tmp_path / "run") as new:
        clearway.result.fill(run, new)
        clearway.tables.write_parquet(flows, run.described["flows"], new / "flows.parquet")
        folder.seal(new, run.summary)
    with pytest.raises(clearway.Error, match=message):
        clearway.load(tmp_path / "run")


def test_results_of_a_version_without_hashes_are_refused_in_words(tmp_path: Path) -> None:
    clearway.run(SMALL, out=tmp_path)
    summary, _ = folder.unseal(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(clearway.Error, match="no hashes of the files, as an older version wrote it"):
        clearway.load(tmp_path)
    clearway.run(SMALL, out=tmp_path)
    assert clearway.load(tmp_path).scenario.startswith("# Resolved by")


def test_hashes_are_those_that_other_programs_compute(tmp_path: Path) -> None:
    clearway.run(SMALL, out=tmp_path)
    hashes = json.loads((tmp_path / "summary.json").read_text())["files"]
    assert set(hashes) == folder.ALWAYS - {"summary.json"}
    assert tomllib.loads((tmp_path / "scenario.toml").read_text())["name"] == "small"
    for name, found in hashes.items():
        assert found == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


ODD_NAMES = [
    "../../x",
    "/etc/x",
    ".hidden",
    "CON",
    "nul.txt",
    "a\nb",
    "x" * 300,
    "测试",
    "试测",
    "-",
    "",
    "a/b",
    "a b",
    "é",
]


def test_names_of_folders_are_safe_and_tell_texts_apart() -> None:
    found = [safe_name(name) for name in ODD_NAMES]
    assert len(set(found)) == len(found)
    for name in found:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9.+_-]{0,110}(?<![.-])", name), name
        assert name.partition(".")[0].lower() not in ("con", "nul")
    assert safe_name("incast-dctcp-switch.buffer-1 MB") == "incast-dctcp-switch.buffer-1MB"
