"""The memory of runs: estimates against measured runs, and refusals before memory is taken."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import clearway
from clearway import machine, tables
from clearway.command.tables import print_runs
from clearway.comparison import headline
from clearway.runner import load_scenario, simulate
from clearway.texts import fct_texts, parts_texts, traffic_texts

STAR = '[topology]\nkind = "star"\nhosts = 16\n[transport]\nname = "dctcp"\n'
PERMUTATION = '[[traffic]]\nkind = "permutation"\nsize = "1 MB"\n'

#: Runs a scenario from standard input and writes its estimate, and the peak of memory above that of a small run.
CHILD = """
import json, sys
from clearway.runner import load_scenario, simulate
text = sys.stdin.read()
small = '''[topology]
kind = "star"
[transport]
name = "blast"
[[traffic]]
kind = "permutation"
size = "1 KB"
'''
def peak():  # ru_maxrss would be that of the parent, if it was larger
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
tables = lambda run: (run.flows, run.ports, run.samples)  # Data frames are made when they are asked for.
tables(simulate(load_scenario(small)))
before = peak()
scenario = load_scenario(text)
estimate = scenario.estimate()
run = simulate(scenario)
tables(run)
print(json.dumps({
    "estimated": estimate["memory_bytes"], "measured": peak() - before,
    "flows": estimate["flows"], "rows": run.flows.height,
}))
"""

#: Reads a scenario in a process that may take so many more bytes, and writes why it is refused.
LIMITED = """
import resource, sys
import clearway
from clearway import machine
from clearway.runner import load_scenario
left = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (machine.address_space() + left,) * 2)
try:
    clearway.run(sys.stdin.read())
except clearway.ScenarioError as error:
    print(error)
"""


def child(code: str, text: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *args], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "traffic",
    [
        '[[traffic]]\nkind = "poisson"\nsize = "1 KB"\nload = 0.5\nflows = 200000\n',
        '[[traffic]]\nkind = "incast"\nsenders = 40000\nsize = "3 KB"\n',
        PERMUTATION + '[[sample]]\nwhat = "queue"\nports = "all"\nevery = "50 ns"\n',
        PERMUTATION.replace("1 MB", "60 MB") + '[[sample]]\nwhat = "rtt"\n',
    ],
    ids=["flows", "fan-out", "samples", "rtt"],
)
def test_the_estimate_of_memory_is_within_a_factor_of_two(traffic: str) -> None:
    seen = json.loads(child(CHILD, STAR + traffic))
    assert seen["measured"] > 20e6, "enough to measure"
    assert 0.5 < seen["estimated"] / seen["measured"] < 2, seen
    assert seen["flows"] == seen["rows"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (STAR + PERMUTATION + '[[sample]]\nwhat = "queue"\nevery = "1 ns"\n', 'sample.0.every = "1 ns"'),
        (
            STAR + '[[traffic]]\nname = "web"\nkind = "poisson"\nsize = "1 KB"\nload = 0.5\nflows = 100000000\n',
            "traffic.web.flows = 100000000",
        ),
        (STAR + '[[traffic]]\nkind = "partition-aggregate"\nfan_out = 1000000\n', "traffic.0.fan_out = 1000000"),
        (STAR + '[[traffic]]\nkind = "incast"\nsenders = 1000000\n', "traffic.0.senders = 1000000"),
        (STAR + '[[traffic]]\nkind = "shuffle"\ntasks = 90\n', "traffic.0.tasks = 90"),
        (
            STAR + '[[traffic]]\nkind = "long"\npairs = "random"\ncount = 2000000\nsize = "1 KB"\n',
            "traffic.0.count = 2000000",
        ),
        (STAR.replace('"star"\nhosts = 16', '"fat-tree"\nk = 128') + PERMUTATION, "topology"),
        (STAR.replace("16", "60000") + '[[traffic]]\nkind = "shuffle"\n', "traffic.0.tasks"),
    ],
    ids=["samples", "poisson", "fan-out", "senders", "shuffle", "long", "network", "all-to-all"],
)
def test_what_would_exhaust_memory_is_refused_with_its_key_in_a_process_that_has_little(text: str, key: str) -> None:
    said = child(LIMITED, text, str(300_000_000))
    assert key in said, said
    assert said.count("\n") == 1
    if "more than 2000000 flows" not in said:
        assert "300 MB" in said or "29" in said, said
        assert "CLEARWAY_MEMORY" in said


def test_memory_that_is_allowed_by_name_is_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = STAR + '[[traffic]]\nkind = "incast"\nsenders = 10000\n'
    with pytest.raises(clearway.ScenarioError, match=r"traffic\.0\.senders = 10000: .*may take 5\.0 MB"):
        clearway.run(text, memory="5 MB")
    monkeypatch.setenv("CLEARWAY_MEMORY", "5 MB")
    with pytest.raises(clearway.ScenarioError, match=r"may take 5\.0 MB"):
        load_scenario(text)
    assert load_scenario(text, memory="1 GB").name
    monkeypatch.setenv("CLEARWAY_MEMORY", "much")
    with pytest.raises(clearway.ScenarioError, match="CLEARWAY_MEMORY = 'much': must be a size"):
        load_scenario(text)


def test_an_estimate_says_of_each_number_how_it_was_got() -> None:
    estimate = load_scenario(STAR + PERMUTATION + '[[sample]]\nwhat = "queue"\n').estimate()
    assert (estimate["hosts"], estimate["switches"], estimate["links"]) == (16, 1, 16)
    assert (estimate["flows"], estimate["open_flows"], estimate["payload_bytes"]) == (16, 0, 16_000_000)
    assert [series["name"] for series in estimate["samples"]] == ["queue"]
    unsaid = set(estimate) - set(estimate["how"])
    assert unsaid == {"how", "traffic"}


def test_the_limits_of_control_groups_hold_with_those_of_the_groups_above(tmp_path: Path) -> None:
    groups = tmp_path / "cgroup"
    groups.write_text("0::/slice/run.scope\n")
    root = tmp_path / "fs"
    (root / "slice" / "run.scope").mkdir(parents=True)
    (root / "slice" / "memory.max").write_text("8000000000\n")
    (root / "slice" / "run.scope" / "memory.max").write_text("max\n")
    assert list(machine.group_limits(groups, root)) == [8_000_000_000]
    groups.write_text("5:cpu:/a\n4:memory:/a\n")
    (root / "memory" / "a").mkdir(parents=True)
    (root / "memory" / "a" / "memory.limit_in_bytes").write_text("2000000000\n")
    (root / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert list(machine.group_limits(groups, root)) == [2_000_000_000]


def test_sizes_of_memory_have_units() -> None:
    assert machine.bytes_of("1.5 GB", "memory") == 1_500_000_000
    assert machine.bytes_of("2GiB", "memory") == 2**31
    assert machine.bytes_of(7, "memory") == 7
    assert (machine.memory_limit() or 0) > 10**6


def many(flows: int, rest: str = "") -> str:
    return STAR + f'[[traffic]]\nkind = "poisson"\nsize = "3 KB"\nload = 0.8\nflows = {flows}\n' + rest


#: Flows that outlive many others, connections with many messages, and samples of three kinds.
MIXED = many(
    3000,
    """
[[traffic]]
name = "long"
kind = "permutation"
size = "1 MB"
[[traffic]]
name = "asked"
kind = "partition-aggregate"
fan_out = 20
rounds = 40
[[sample]]
what = "queue"
every = "20 us"
[[sample]]
what = "throughput"
traffic = "long"
every = "20 us"
[[sample]]
what = "rtt"
traffic = "long"
""",
)


#: The same in small, for parts of one row.
FEW = MIXED.replace("flows = 3000", "flows = 100").replace("1 MB", "100 KB").replace("rounds = 40", "rounds = 2")


@pytest.mark.parametrize(("rows", "text"), [(1, FEW), (100, MIXED), (1000, MIXED)], ids=["1", "100", "1000"])
def test_rows_that_leave_memory_give_the_same_bytes_as_those_that_stay(tmp_path: Path, rows: int, text: str) -> None:
    scenario = load_scenario(text)
    kept = simulate(scenario)
    streamed = simulate(scenario, out=tmp_path / "run", part_rows=rows)
    stored = streamed.stored("flows"), streamed.stored("samples")
    assert all(isinstance(table, tables.Streamed) for table in stored)
    assert streamed.hash == kept.hash
    folders = kept.save(tmp_path / "kept"), streamed.save(tmp_path / "streamed")
    for file in ("flows", "ports", "samples"):
        one, other = (folder / f"{file}.parquet" for folder in folders)
        assert one.read_bytes() == other.read_bytes(), file
    assert streamed.scan("flows").select("fct_s").collect()["fct_s"].equals(kept.flows["fct_s"])
    assert streamed.scan("flows").head(7).collect().equals(kept.flows.head(7))
    assert streamed.flows.equals(kept.flows)
    assert streamed.samples.equals(kept.samples)
    assert clearway.load(folders[1]).flows.equals(kept.flows)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")], "the files of rows have no name"


def test_a_run_whose_rows_left_memory_and_that_is_interrupted_is_whole(tmp_path: Path) -> None:
    scenario = load_scenario(MIXED.replace("flows = 3000", "flows = 100000"))
    run = simulate(scenario, out=tmp_path / "run", part_rows=100, progress=lambda _: False)
    assert run.interrupted
    assert 100 < run.summary["flows_started"] < 100_000
    assert run.flows.height == run.summary["flows_started"]
    assert run.flows["start_s"].is_sorted()
    assert clearway.load(run.save(tmp_path / "run")).flows.equals(run.flows)


def test_the_tables_that_the_command_prints_leave_the_rows_where_they_are(tmp_path: Path) -> None:
    for window in ("", '[measure]\nfrom = "100 us"\n'):
        scenario = load_scenario(MIXED + window)
        kept, streamed = {"": simulate(scenario)}, {"": simulate(scenario, out=tmp_path / "run", part_rows=500)}
        for table in (fct_texts, parts_texts, traffic_texts):
            assert table(streamed) == table(kept)
        # A share of nothing is NaN, which equals nothing but as text.
        one, other = ({key: str(value) for key, value in headline(of[""]).items()} for of in (kept, streamed))
        assert {key for key in one if one[key] != other[key]} <= {*COSTS}
        print_runs(Console(quiet=True), "", streamed)
        assert isinstance(streamed[""].stored("flows"), tables.Streamed)


def test_a_table_that_left_memory_is_pickled_as_a_frame(tmp_path: Path) -> None:
    run = simulate(load_scenario(many(500)), out=tmp_path / "run", part_rows=50)
    assert pickle.loads(pickle.dumps(run)).flows.equals(run.flows)
    with pytest.raises(clearway.Error, match="'flow' is no table of a run"):
        run.scan("flow")


def test_a_disk_that_can_not_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    scenario = load_scenario(many(2000))
    with pytest.raises(clearway.SimulationError, match=r"can't be kept in a file: .*gone: No such file"):
        scenario.run(spool=tmp_path / "gone", part_rows=100)


#: Figures of a run that are of the machine.
COSTS = ("million_link_transmissions_per_cpu_s", "cpu_s", "peak_memory_bytes")

#: Runs a scenario into a folder and writes the peak of memory above that of an import.
STREAMED = """
import resource, sys
import clearway
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clearway.run(dict(topology={"kind": "star"}, transport="blast", traffic=[{"kind": "permutation", "size": "1 KB"}]))
before = peak()
run = clearway.run(sys.stdin.read(), out=sys.argv[1])
print(peak() - before, run.summary["flows_started"], run.scan("samples").select("value").collect().height, run.hash)
"""


def streamed(text: str, out: Path) -> tuple[int, int, int]:
    peak, flows, samples, _ = child(STREAMED, text, str(out)).split()
    return int(peak), int(flows), int(samples)


def test_two_million_samples_take_the_memory_of_a_few_parts(tmp_path: Path) -> None:
    text = STAR + PERMUTATION + '[[sample]]\nwhat = "queue"\nports = "all"\nevery = "20 ns"\n'
    peak, _, samples = streamed(text, tmp_path / "run")
    assert samples > 1_300_000
    assert peak < 110e6, peak


@pytest.mark.full
def test_ten_million_flows_fit_into_a_gigabyte(tmp_path: Path) -> None:
    peak, flows, _ = streamed(many(10_000_000).replace("3 KB", "1 KB"), tmp_path / "run")
    assert flows == 10_000_000
    assert peak < 1e9, peak
