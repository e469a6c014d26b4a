"""Sweeps: axes, points, files, and that no result is lost, run twice or different, whatever happens meanwhile."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import scipy.stats
from conftest import SMALL, Cli
from hypothesis import given
from hypothesis import strategies as st

import clearway
from clearway.jobs.store import Store
from clearway.jobs.workers import InProcess
from clearway.sweeps import axes, bands, frame, layout, points
from clearway.sweeps import run as running
from clearway.sweeps.amounts import Amount, amount, inline, setting_text
from clearway.sweeps.file import Spec, of_content, read

SWEEP = """\
scenario = "small.toml"

[axes]
transport = ["expresspass", "dctcp"]
"traffic.burst.size" = ["500 KB", "2 MB", "64 KB"]
seed = {from = 1, to = 2}
"""


def small_dict() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(SMALL)


def spec(tmp_path: Path, text: str) -> Spec:
    """A sweep of the small scenario."""
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return read(path)


def identities(of: Spec) -> list[dict[str, Any]]:
    return [choice.identity for choice in of.choices()]


# ---- axes and points

names = st.sampled_from(["a", "b.c", "d.e.f", "g"])
lists = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)


@given(st.dictionaries(names, lists, min_size=1))
def test_a_grid_has_every_combination_once(table: dict[str, list[int]]) -> None:
    found = [choice.settings for choice in axes.grid([axes.plain(key, values, "") for key, values in table.items()])]
    assert len(found) == math.prod(map(len, table.values())) == len({inline(one) for one in found})
    assert all({*one} == {*table} and all(value in table[key] for key, value in one.items()) for one in found)


@given(st.dictionaries(names, lists, min_size=2), st.data())
def test_an_exclusion_takes_away_the_points_that_have_its_values_and_no_others(
    table: dict[str, list[int]], data: st.DataObject
) -> None:
    keys = data.draw(st.lists(st.sampled_from(sorted(table)), min_size=1, unique=True))
    row = {key: data.draw(st.sampled_from(table[key])) for key in keys}
    content = {"scenario": {}, "axes": table}
    every = identities(of_content(content, "x", Path(), "x"))
    left = identities(of_content({**content, "exclude": [row]}, "x", Path(), "x"))
    assert left == [one for one in every if any(one[key] != value for key, value in row.items())]


@given(
    st.fractions(0, 1000, max_denominator=1000),
    st.fractions(0, 1000, max_denominator=1000),
    st.integers(2, 30),
    st.sampled_from(["", "s", "B", "bit/s"]),
)
def test_a_linear_range_has_equal_distances_and_both_ends(low: Fraction, high: Fraction, steps: int, unit: str) -> None:
    low, high = (Fraction(f"{float(one):.6f}") for one in (low, high))
    if unit in ("B", "bit/s"):
        low, high = Fraction(round(low) * (steps - 1)), Fraction(round(high) * (steps - 1))
    if low >= high:
        return
    ends = {"from": axes.written(Amount(low, unit)), "to": axes.written(Amount(high, unit)), "steps": steps}
    found = [amount(value) for value in axes.span(ends, "x")]
    exact = [low + (high - low) * at / (steps - 1) for at in range(steps)]
    for one, wanted in zip(found, exact, strict=True):
        assert one is not None
        assert one.unit == unit
        assert float(one.number) == pytest.approx(float(wanted), rel=1e-12, abs=1e-12)


def test_ranges_are_written_as_people_would_write_them() -> None:
    def span(**table: Any) -> list[Any]:
        return axes.span({key.rstrip("_"): value for key, value in table.items()}, "x")

    assert span(from_=1, to=5) == [1, 2, 3, 4, 5]
    assert span(from_=0.1, to=0.7, step=0.1) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert span(from_=0.1, to=0.7, steps=7) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert span(from_="1 KB", to="1 MB", steps=4, scale="log") == ["1000 B", "10000 B", "100000 B", "1000000 B"]
    assert span(from_="1 us", to="3 us", step="1 us") == ["1000000 ps", "2000000 ps", "3000000 ps"]
    assert span(from_="10 Gbps", to="40 Gbps", step="10 Gbps")[1] == "20000000000 bps"


@pytest.mark.parametrize(
    ("value", "number", "unit"),
    [
        ("500 KB", 500_000, "B"),
        ("2 MB", 2_000_000, "B"),
        ("1 KiB", 1024, "B"),
        ("384.5 KB", 384_500, "B"),
        ("1e-3", 0.001, ""),
        (1e-3, 0.001, ""),
        ("10 us", 1e-5, "s"),
        ("1.5e2 ns", 1.5e-7, "s"),
        ("10 Gbps", 10**10, "bit/s"),
        (7, 7, ""),
    ],
)
def test_an_amount_is_a_number_in_its_base_unit(value: object, number: float, unit: str) -> None:
    found = amount(value)
    assert found is not None
    assert (found.value, found.unit) == (number, unit)


@pytest.mark.parametrize("value", ["auto", "unlimited", "dctcp", "10 apples", True, None, float("nan"), [1]])
def test_what_is_no_amount_has_no_number(value: object) -> None:
    assert amount(value) is None


def test_keys_go_together_in_zips_cases_and_points(tmp_path: Path) -> None:
    found = spec(
        tmp_path,
        'scenario = "small.toml"\n[axes]\nseed = [1, 2]\n[[zip]]\ntraffic.burst.size = ["1 KB", "2 KB"]\n'
        'traffic.burst.rounds = [3, 4]\n[cases.stack]\nold = {transport = "dctcp"}\n'
        'new = {transport = "expresspass", "transport.alpha" = 0.25}\n[[point]]\nseed = 9\ntransport = "cubic"\n',
    )
    settings = [choice.settings for choice in found.choices()]
    assert len(settings) == 2 * 2 * 2 + 1
    assert {(one.get("traffic.burst.size"), one.get("traffic.burst.rounds")) for one in settings} == {
        ("1 KB", 3),
        ("2 KB", 4),
        (None, None),
    }
    resolved = points.resolve(found, "v")
    columns = {column.name: column.values for column in points.columns(found, resolved, frame.TAKEN)}
    assert columns["seed"] == [1] * 4 + [2] * 4 + [9]
    assert columns["size_bytes"][-1] == 64_000  # of the scenario, which the point does not set
    assert columns["stack"][:2] == ["old", "new"]
    assert columns["alpha"][1] == 0.25
    assert len({*points.folder_names(resolved)}) == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[topology]\nkind='star'", "is a scenario, not a sweep; write a file with scenario ="),
        ("[axes]\nseed=[1]", "scenario is missing: name a scenario file"),
        ("scenario='small.toml'\naxis=1", "axis: unknown key; did you mean 'axes'?"),
        ("scenario='small.toml'", "has no axes; write some under [axes]"),
        ("scenario='small.toml'\n[axes]\nseed=[]", "axes.seed = []: write at least one value"),
        ("scenario='small.toml'\n[axes]\nseed=3", "axes.seed = 3: write a list of values, or a range"),
        ("scenario='small.toml'\n[axes]\nseed=[1, 1]", "axes.seed = [1, 1]: 1 is there twice"),
        ("scenario='small.toml'\n[axes]\nswitch.buffer=['500 KB', '0.5 MB']", '"0.5 MB" is there twice'),
        ("scenario='small.toml'\n[axes]\nseed={from=5, to=1}", "from must not be above to"),
        ("scenario='small.toml'\n[axes]\nseed={from=1, to=2, stpe=1}", "stpe is no key of a range; did you mean step"),
        ("scenario='small.toml'\n[axes]\nseed={from=1, to=4, step=2}", "steps of 2 from 1 do not meet 4"),
        ("scenario='small.toml'\n[axes]\nx={from='1 KB', to='1 ms', steps=2}", "must have the same kind of unit"),
        ("scenario='small.toml'\n[[zip]]\nseed=[1,2]\nstop=['1 s']", "zip 0: seed has 2, stop has 1 values"),
        ("scenario='small.toml'\n[axes]\nseed=[1]\n[[exclude]]\nseed=2", "no point of the grid has these values"),
        (
            "scenario='small.toml'\n[axes]\nseed=[1]\n[[exclude]]\nsed=1",
            "exclude: sed is no axis; did you mean 'seed'?",
        ),
        ("scenario='small.toml'\n[set]\nseed=1\n[axes]\nseed=[1]", "set.seed: is an axis too"),
        ("scenario='small.toml'\n[axes]\nseed=[-1]", "seed = -1: write a whole number"),
        ("scenario='small.toml'\n[axes]\nswitch.bufer=['1 KB']", 'did you mean "buffer"?'),
        ("scenario='small.toml'\n[axes]\nswitch.buffer=['1 KB', 'x']", "(at the point switch.buffer = x)"),
        ("scenario='gone.toml'\n[axes]\nseed=[1]", "gone.toml"),
        ("scenario='small.toml'\n[axes]\nseed=[7]\n[[point]]\nname='small'", "are one scenario; remove one of them"),
        (
            "scenario='small.toml'\n[axes]\nseed={from=1, to=2000}\nstop={from='1 s', to='2000 s', step='1 s'}",
            "has 4,000,000 points",
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_remedy(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(clearway.Error) as caught:
        running.Plan.of(spec(tmp_path, text), tmp_path / "out", None)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "sweep.toml" in str(caught.value)
    assert not (tmp_path / "out").exists()


@given(st.floats(0.55, 0.999), st.integers(1, 60))
def test_the_quantile_of_t_is_that_of_scipy(probability: float, freedom: int) -> None:
    assert bands.t_quantile(probability, freedom) == pytest.approx(scipy.stats.t.ppf(probability, freedom), rel=1e-6)


def test_an_interval_holds_the_mean_and_needs_two_values() -> None:
    mean, low, high = bands.interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert mean - low == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert high - mean == pytest.approx(mean - low)
    assert bands.interval([0.1, 0.1, 0.1]) == (0.1, 0.1, 0.1)
    assert [math.isnan(one) for one in bands.interval([5.0])] == [False, True, True]
    assert all(math.isnan(one) for one in bands.interval([]))


# ---- running


def swept(tmp_path: Path, processes: int = 1, **more: Any) -> clearway.Sweep:
    return clearway.sweep(
        small_dict(),
        {"transport": ["expresspass", "dctcp"], "traffic.burst.size": ["500 KB", "2 MB", "64 KB"], "seed": [1, 2]},
        out=tmp_path / "swept",
        processes=processes,
        **more,
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has points run in the process of the test, in which it can replace functions."""
    monkeypatch.setattr(running, "workers", lambda *_: InProcess())


def files_of(folder: Path) -> dict[str, Any]:
    """The files of a sweep's folder that must not differ: all but costs, and the measured part of summaries."""
    found: dict[str, Any] = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = str(path.relative_to(folder))
        if path.name == "summary.json":
            found[name] = {
                key: value
                for key, value in json.loads(path.read_bytes()).items()
                if key not in ("measured", "checksum")
            }
        elif name == "sweep.json":
            found[name] = {**json.loads(path.read_bytes()), "checksum": None}
            found[name]["files"].pop("costs.csv", None)
        elif name != "costs.csv":
            found[name] = path.read_bytes()
    return found


def test_the_frame_has_axes_as_columns_in_base_units(tmp_path: Path) -> None:
    found = swept(tmp_path)
    assert found.frame.columns[:3] == ["transport", "size_bytes", "seed"]
    assert found.frame["size_bytes"].unique().sort().to_list() == [64_000, 500_000, 2_000_000]
    assert found.columns().filter(table="runs", column="size_bytes")["unit"].item() == "B"
    assert found.frame.height == 12
    one = found.load(transport="dctcp", size_bytes=500_000, seed=2)
    assert (one.label, one.summary["seed"]) == ("dctcp", 2)
    assert one.hash == clearway.run(SMALL, transport="dctcp", seed=2, set={"traffic.burst.size": "500 KB"}).hash
    again = clearway.load_sweep(found.out)
    for name in ("frame", "sizes", "costs", "failures"):
        assert getattr(again, name).equals(getattr(found, name), null_equal=True)
    assert [one.name for one in found.runs] == [path.name for path in again.runs]
    assert pl.read_csv(found.out / "runs.csv").height == 12


def test_several_seeds_give_means_with_intervals(tmp_path: Path) -> None:
    found = swept(tmp_path)
    table = found.summary(["fct_mean_s"])
    assert table.columns == ["transport", "size_bytes", "n", "fct_mean_s", "fct_mean_s_low", "fct_mean_s_high"]
    row = table.filter(transport="expresspass", size_bytes=64_000).row(0, named=True)
    two = found.frame.filter(transport="expresspass", size_bytes=64_000)["fct_mean_s"].to_list()
    assert row["n"] == 2
    assert row["fct_mean_s"] == pytest.approx(sum(two) / 2)
    assert row["fct_mean_s_high"] - row["fct_mean_s"] == pytest.approx(12.7062 * abs(two[0] - two[1]) / 2, rel=1e-4)
    assert found.summary_by_size().filter(bucket="all").height == 6


@pytest.mark.usefixtures("here")
def test_nothing_is_run_twice_also_across_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = files_of(swept(tmp_path).out)
    computed: list[str] = []
    real = running.write

    def write(text: str, path: Path) -> None:
        computed.append(text)
        real(text, path)

    monkeypatch.setattr(running, "write", write)
    assert files_of(swept(tmp_path).out) == first
    assert computed == []
    other = clearway.sweep(
        small_dict(), {"traffic.burst.size": ["64 KB", "65 KB"]}, set={"seed": 1}, out=tmp_path / "other", processes=1
    )
    assert len(computed) == 1
    assert other.frame["size_bytes"].to_list() == [64_000, 65_000]


def test_two_processes_give_the_same_bytes_as_one(tmp_path: Path) -> None:
    one = files_of(swept(tmp_path / "one").out)
    two = files_of(swept(tmp_path / "two", processes=2).out)
    assert one == two


@pytest.mark.usefixtures("here")
def test_a_point_that_fails_stops_no_other_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = running.write

    def broken(text: str, path: Path) -> None:
        if "seed = 2\n" in text and '"dctcp"' in text:
            raise clearway.SimulationError("it broke")
        real(text, path)

    monkeypatch.setattr(running, "write", broken)
    found = swept(tmp_path)
    assert (found.frame.height, found.failures["error"].to_list()) == (9, ["it broke"] * 3)
    assert found.failures["seed"].to_list() == [2, 2, 2]
    assert clearway.load_sweep(found.out).failures.equals(found.failures)
    monkeypatch.setattr(running, "write", real)
    again = swept(tmp_path)
    assert (again.frame.height, again.failures.height) == (12, 0)
    assert not (again.out / "failures.csv").exists()
    assert files_of(again.out) == files_of(swept(tmp_path / "undisturbed").out)


@pytest.mark.usefixtures("here")
def test_a_sweep_all_of_whose_points_fail_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise clearway.SimulationError("it broke")

    monkeypatch.setattr(running, "write", broken)
    again = clearway.load_sweep(swept(tmp_path).out)
    assert (again.frame.height, again.failures.height, again.points) == (0, 12, 12)
    assert again.costs["cpu_s"].sum() == 0
    assert again.summary().height == 0
    assert "12 of 12 points failed" in again._repr_html_()


@pytest.mark.usefixtures("here")
def test_a_full_disk_is_the_failure_of_the_points_that_it_meets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, puts = Store.put, 0

    def put(self: Store, key: str, write: Any) -> Path:
        nonlocal puts
        puts += 1
        if 4 <= puts <= 6:
            raise clearway.Error(f"{self.path(key)}: can't keep this result: No space left on device")
        return real(self, key, write)

    monkeypatch.setattr(Store, "put", put)
    found = swept(tmp_path)
    assert (found.frame.height, found.failures.height) == (9, 3)
    assert all("No space left" in text for text in found.failures["error"])
    assert swept(tmp_path).frame.height == 12


def test_a_damaged_result_is_computed_anew(tmp_path: Path) -> None:
    found = swept(tmp_path)
    whole = files_of(found.out)
    for path in (*(tmp_path / ".store").rglob("flows.parquet"), *found.out.rglob("flows.parquet")):
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 4
        path.write_bytes(content)
    assert files_of(swept(tmp_path).out) == whole


def command(path: Path, *more: object) -> list[str]:
    return [sys.executable, "-m", "clearway", "sweep", str(path), "--quiet", *map(str, more)]


@pytest.mark.parametrize(
    "stop", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["SIGKILL", "SIGINT"]
)
def test_a_sweep_that_is_stopped_goes_on_and_ends_in_the_same_bytes(stop: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace("to = 2", "to = 12"))
    subprocess.run(command(path, "--out", tmp_path / "calm" / "out"), check=True, timeout=120)
    calm = files_of(tmp_path / "calm" / "out")
    out, chance, stopped = tmp_path / "wild" / "out", random.Random(5), 0
    began = time.monotonic()
    while time.monotonic() - began < 100:
        process = subprocess.Popen(command(path, "--out", out, "-j", 2), stderr=subprocess.DEVNULL)
        try:
            # Only a few are stopped, or the test would last for minutes.
            process.wait(None if stopped == 3 else chance.uniform(0.3, 1.2))
        except subprocess.TimeoutExpired:
            process.send_signal(stop)
            stopped += 1
        if process.wait() == 0:
            break
    assert stopped
    assert process.returncode == 0
    assert files_of(out) == calm
    assert [path for name in (".drafts", ".claims") for path in (out.parent / ".store" / name).iterdir()] == []
    assert not [name for name in files_of(out) if "draft" in name or ".clearway" in name]


# ---- the command


def test_the_command_writes_a_folder_and_says_what_failed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "two.toml").write_text(SWEEP)
    dry = cli("sweep", "two.toml", "--dry-run")
    assert (dry.returncode, dry.stdout.count("to be run")) == (0, 12)
    assert not (tmp_path / "out").exists()
    done = cli("sweep", "two.toml", "--json", "-j", 1)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["runs"]) == 12
    assert clearway.load_sweep(tmp_path / "out" / "two").frame.height == 12
    again = cli("sweep", "two.toml", "--dry-run", "--json")
    assert all(point["kept"] for point in json.loads(again.stdout)["points"])
    table = cli("sweep", "two.toml")
    assert "12 of them kept from before" in table.stderr
    assert re.search(r"expresspass\s+500 KB\s+2 ", table.stdout)
    refused = cli("sweep", "small.toml")
    assert (refused.returncode, "is a scenario, not a sweep" in refused.stderr) == (2, True)


def test_no_more_points_run_at_a_time_than_memory_has_room_for(tmp_path: Path) -> None:
    plan = running.Plan.of(spec(tmp_path, SWEEP), tmp_path / "out", None)
    largest = max(point.memory_bytes for point in plan.points)
    assert largest > 0
    assert plan.room(None) == 12
    assert plan.room(1) == 1
    assert 2 <= plan.room(2 * largest) < 12
    with pytest.raises(clearway.Error, match="at the point transport = expresspass"):
        running.Plan.of(spec(tmp_path, SWEEP), tmp_path / "out", None, memory=1000)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "swept").mkdir()
    (tmp_path / "swept" / "thesis.tex").write_text("mine")
    with pytest.raises(clearway.Error, match="holds something other than results"):
        swept(tmp_path)
    assert [path.name for path in (tmp_path / "swept").iterdir()] == ["thesis.tex"]


def test_the_file_in_the_folder_gives_the_same_sweep(tmp_path: Path) -> None:
    found = swept(tmp_path)
    again = clearway.sweep(found.out / "sweep.toml", out=tmp_path / "again", processes=1)
    assert files_of(again.out) == files_of(found.out)


def test_settings_are_texts_that_the_scenario_reads_back(tmp_path: Path) -> None:
    found = clearway.sweep(
        small_dict(), {"topology.hosts": [5, 6]}, set={"traffic.burst.senders": 3}, out=tmp_path / "a", processes=1
    )
    assert found.frame["hosts"].to_list() == [5, 6]
    assert setting_text([["h1", "h0"]]) == '[["h1", "h0"]]'
    assert setting_text({"name": "dctcp", "g": 0.5}) == '{"name" = "dctcp", "g" = 0.5}'


def test_a_worker_that_is_killed_costs_its_point_a_second_try(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_a_child(_: object) -> None:
        if not killed:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            for child in children:
                if "clearway.jobs.worker" in Path(f"/proc/{child}/cmdline").read_text():
                    os.kill(int(child), signal.SIGKILL)
                    killed.append(int(child))
                    return

    progress: Callable[[object], None] = kill_a_child
    found = swept(tmp_path, processes=2, progress=progress)
    assert killed
    assert found.failures.height == 0
    assert files_of(found.out) == files_of(swept(tmp_path / "calm").out)


def test_the_report_of_a_sweep_draws_a_line_per_transport_with_bands(cli: Cli, tmp_path: Path) -> None:
    found = swept(tmp_path)
    done = cli("report", found.out, "--out", "page.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "12 runs over transport (2 values), size (3 values), seed (2 values)" in text
    assert text.index(">64 KB<") < text.index(">500 KB<") < text.index(">2 MB<")
    of = layout.layout(found)
    assert (of.x, of.lines, of.panels) == ("size_bytes", "transport", ())
    lines = layout.bands(found.frame, of, "fct_mean_s")
    assert [x for x, *_ in lines["dctcp"]] == [64_000, 500_000, 2_000_000]
    assert all(low <= mean <= high for line in lines.values() for _, mean, low, high in line)


def test_axes_that_are_neither_x_nor_lines_have_panels(tmp_path: Path) -> None:
    found = clearway.sweep(
        small_dict(),
        {
            "transport": ["dctcp", "cubic"],
            "traffic.burst.rounds": [1, 2],
            "traffic.burst.size": ["1 KB", "2 KB", "3 KB"],
        },
        out=tmp_path / "swept",
        processes=1,
    )
    of = layout.layout(found)
    assert (of.x, of.lines, of.panels) == ("size_bytes", "transport", ("rounds",))
    assert [(values, part.height) for values, part in layout.panels(of, found.frame)] == [
        ({"rounds": 1}, 6),
        ({"rounds": 2}, 6),
    ]
    other = layout.layout(found, x="rounds", lines="size_bytes")
    assert (other.x, other.lines, other.panels) == ("rounds", "size_bytes", ("transport",))
    with pytest.raises(clearway.Error, match="speed is no axis of this sweep"):
        layout.layout(found, x="speed")


@pytest.mark.slow
def test_two_commands_at_once_share_the_work_and_end_in_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace("to = 2", "to = 8"))
    out = tmp_path / "both" / "out"
    both = [subprocess.Popen(command(path, "--out", out, "-j", 2), stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=120)[1] for process in both]
    assert ([process.returncode for process in both], told) == ([0, 0], ["", ""])
    subprocess.run(command(path, "--out", tmp_path / "calm" / "out"), check=True, timeout=120)
    assert files_of(out) == files_of(tmp_path / "calm" / "out")
