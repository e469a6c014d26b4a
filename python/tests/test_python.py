"""The package: running, data frames, folders, errors."""

from __future__ import annotations

import threading
import time
import tomllib
from pathlib import Path

import polars as pl
import pytest
from conftest import ENDLESS, SMALL

import clearway
from clearway import _clearway, folder


def test_a_scenario_is_a_path_a_text_or_a_dict(small: Path) -> None:
    by_path, by_name = clearway.run(small), clearway.run(str(small))
    by_text, by_dict = clearway.run(SMALL), clearway.run(tomllib.loads(SMALL))
    assert len({run.hash for run in (by_path, by_name, by_text, by_dict)}) == 1
    assert by_text.name == "small"


def test_overrides_are_as_on_the_command_line() -> None:
    run = clearway.run(SMALL, transport="dctcp", seed=3, set={"traffic.burst.rounds": 1})
    assert run.transports == ["dctcp"]
    assert run.flows.height == 3
    assert run.summary["seed"] == 3
    assert run.summary["overrides"] == {"transport": "dctcp", "set": {"traffic.burst.rounds": "1"}}


def test_every_column_says_its_unit_and_meaning() -> None:
    run = clearway.run(SMALL)
    for name in ("flows", "ports", "samples"):
        table = getattr(run, name)
        described = run.columns().filter(pl.col("table") == name)
        assert described["column"].to_list() == table.columns
        assert all(doc.strip() for doc in described["doc"])
        for column, unit in described.select("column", "unit").rows():
            if column.endswith("_s"):
                assert unit == "s"
            if column.endswith("_bytes"):
                assert unit == "B"


def test_flows_are_a_data_frame() -> None:
    flows = clearway.run(SMALL).flows
    assert flows.height == 6
    assert flows["size_bytes"].to_list() == [64_000] * 6
    assert flows["fct_s"].min() >= flows["ideal_fct_s"].max()  # type: ignore[operator]
    assert set(flows["dst"]) == {"h0"}


def test_a_saved_run_loads_as_it_was(tmp_path: Path) -> None:
    run = clearway.run(SMALL, out=tmp_path / "run")
    again = clearway.load(tmp_path / "run")
    assert again.summary == run.summary
    assert again.columns().equals(run.columns())
    for table in ("flows", "ports", "samples"):
        assert getattr(again, table).equals(getattr(run, table))
    again.save(tmp_path / "copy")
    for file in (tmp_path / "run").iterdir():
        assert file.read_bytes() == (tmp_path / "copy" / file.name).read_bytes()


def test_the_same_run_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        clearway.run(SMALL, out=tmp_path / name)
    for file in ("flows.parquet", "ports.parquet", "samples.parquet", "scenario.toml"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    clearway.run(SMALL, out=tmp_path / "run")
    (tmp_path / "run" / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(clearway.Error, match="can't read the results"):
        clearway.load(tmp_path / "run")
    with pytest.raises(clearway.Error, match="no results"):
        clearway.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("measured", None, r"summary.json: measured.cpu_s = None: must be a number"),
        ("flows_completed", "six", r"flows_completed = 'six': must be a number"),
        ("seed", True, r"seed = True: must be a number"),
        ("overrides", {}, r"overrides.set = None: must be a table"),
    ],
)
def test_a_summary_that_lacks_what_every_run_has_is_refused(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    clearway.run(SMALL, out=tmp_path)
    summary, _ = folder.unseal(tmp_path)
    folder.seal(tmp_path, {**summary, key: value})
    with pytest.raises(clearway.Error, match=message):
        clearway.load(tmp_path)


def test_a_table_that_another_program_wrote_is_refused(tmp_path: Path) -> None:
    clearway.run(SMALL, out=tmp_path)
    summary, _ = folder.unseal(tmp_path)
    pl.read_parquet(tmp_path / "flows.parquet").write_parquet(tmp_path / "flows.parquet")
    folder.seal(tmp_path, summary)
    with pytest.raises(clearway.Error, match=r"flows\.parquet: it is not a table of Clearway's"):
        clearway.load(tmp_path)


def test_a_transport_with_parameters_stands_beside_itself(tmp_path: Path) -> None:
    told = "expresspass+tell_end=true+end_margin=0"
    both = clearway.compare(SMALL, ["expresspass", told], out=tmp_path / "both")
    assert list(both.runs) == ["expresspass", told]
    waste = {name: int(run.flows["credits_wasted"].sum()) for name, run in both.runs.items()}
    assert waste[told] < waste["expresspass"]
    assert both.runs[told].label == told
    assert clearway.load(tmp_path / "both" / told).hash == both.runs[told].hash
    again = clearway.run(SMALL, transport="expresspass", set={"transport.tell_end": True, "transport.end_margin": 0})
    assert again.hash == both.runs[told].hash
    clearway.compare(SMALL, ["dctcp"], out=tmp_path / "both")
    assert {path.name for path in (tmp_path / "both").iterdir() if path.is_dir()} == {"dctcp", "expresspass", told}


def test_parameters_of_a_transport_come_before_those_of_all() -> None:
    run = clearway.run(SMALL, transport="expresspass+alpha=0.25", set={"transport.alpha": 0.125})
    assert "alpha = 0.25" in run.scenario


@pytest.mark.parametrize("transport", ["dctcp+", "dctcp+g", "dctcp+g=", "dctcp+=1", "dctcp+g=0.1+g=0.2", "dctcp+g=1/2"])
def test_parameters_of_a_transport_are_keys_with_values(transport: str) -> None:
    with pytest.raises(clearway.Error, match="transport 'dctcp"):
        clearway.run(SMALL, transport=transport)


def test_compare_runs_the_same_traffic() -> None:
    both = clearway.compare(SMALL, ["expresspass", "dctcp"])
    assert both.table()["run"].to_list() == ["expresspass", "dctcp"]
    starts = both.flows.partition_by("run")
    assert starts[0].height == starts[1].height == 6
    assert set(both.fct_by_size()["run"]) == {"expresspass", "dctcp"}


def test_errors_are_a_small_tree() -> None:
    assert issubclass(clearway.ScenarioError, clearway.Error)
    assert issubclass(clearway.SimulationError, clearway.Error)
    with pytest.raises(clearway.ScenarioError, match=r"<text>:\d+: .*hosts"):
        clearway.run(SMALL.replace("hosts = 4", "hosts = -4"))
    with pytest.raises(clearway.ScenarioError, match="TOML"):
        clearway.run({"name": object()})
    with pytest.raises(clearway.ScenarioError, match="seed"):
        clearway.run(SMALL, seed=-1)


def test_a_panic_is_an_error_that_names_the_seed() -> None:
    with pytest.raises(clearway.SimulationError, match=r"internal error, please report it .* seed 42: .*\.rs:\d+"):
        _clearway._panic_for_tests(42)


def test_progress_rises_and_may_end_the_run() -> None:
    seen: list[clearway.Progress] = []

    def stop_at_three(progress: clearway.Progress) -> bool:
        seen.append(progress)
        return len(seen) < 3

    began = time.perf_counter()
    run = clearway.run(ENDLESS, progress=stop_at_three)
    assert run.interrupted
    assert [p.now_s for p in seen] == sorted(p.now_s for p in seen)
    assert seen[-1].stop_s == 1000
    assert time.perf_counter() - began >= 0.3  # at most ten calls a second


def test_an_exception_in_the_callback_comes_through() -> None:
    def fail(_: clearway.Progress) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        clearway.run(ENDLESS, progress=fail)


def test_the_interpreter_is_free_while_a_simulation_runs() -> None:
    stop = threading.Event()
    results: list[clearway.Run] = []
    worker = threading.Thread(
        target=lambda: results.append(clearway.run(ENDLESS, progress=lambda _: not stop.is_set()))
    )
    worker.start()
    counted = 0
    began = time.perf_counter()
    while time.perf_counter() - began < 0.5:
        counted += 1
        time.sleep(0.001)
    stop.set()
    worker.join(timeout=30)
    assert counted > 50
    assert results[0].interrupted
