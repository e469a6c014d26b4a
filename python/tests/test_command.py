"""The command: what it prints, writes and returns."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ENDLESS, REPOSITORY, SMALL, Cli

import clearway
from clearway import _clearway
from clearway.folder import find_runs


def files(under: Path) -> set[str]:
    return {str(path.relative_to(under)) for path in under.rglob("*") if path.is_file()}


def test_run_prints_tables_and_writes_a_folder(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--out", "results")
    assert done.returncode == 0, done.stderr
    for words in ("mean FCT", "maximum queue", "average queue", "packets dropped", "utilisation", "credit waste"):
        assert words in done.stdout
    run = clearway.load(small.parent / "results")
    assert run.summary["flows_completed"] == 6
    assert run.hash[:16] in done.stdout


def test_run_writes_to_out_by_default(cli: Cli, small: Path) -> None:
    assert cli("run", small, "--transport", "dctcp", "--quiet").stdout == ""
    assert clearway.load(small.parent / "out" / "small-dctcp").transports == ["dctcp"]


def test_the_default_folder_tells_runs_apart(cli: Cli, small: Path) -> None:
    for options in ([], ["--transport", "dctcp"], ["--seed", 9], ["--set", "topology.rate=40 Gbps"]):
        done = cli("run", small, *options, "--quiet")
        assert done.returncode == 0, done.stderr
    assert cli("run", small, "--transport", "expresspass", "--quiet").returncode == 0
    folders = {path.name for path in (small.parent / "out").iterdir()}
    apart = {"small-expresspass", "small-dctcp", "small-expresspass-seed-9", "small-expresspass-topology.rate-40Gbps"}
    assert folders == apart
    small.write_text(SMALL.replace("hosts = 4", "hosts = 5"))
    done = cli("run", small)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "holds another run (topology.hosts = 4 there, 5 here); name another folder with --out, or" in done.stderr
    assert cli("run", small, "--force").returncode == 0


@pytest.mark.parametrize("name", ["../../x", "NUL.txt"])
def test_a_name_never_leads_out_of_the_folder(cli: Cli, small: Path, name: str) -> None:
    small.write_text(SMALL.replace('"small"', f'"{name}"'))
    done = cli("run", small, "--quiet")
    assert done.returncode == 0, done.stderr
    (folder,) = (small.parent / "out").iterdir()
    assert folder.name.startswith(("x-expresspass-", "run-NUL.txt-expresspass-"))
    assert {path.name for path in small.parent.iterdir()} == {"small.toml", "out"}
    assert clearway.load(folder).name == name


def test_json_is_json(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--json")
    answer = json.loads(done.stdout)
    assert answer["summary"]["scenario"] == "small"
    assert answer["fct_by_size"][-1]["bucket"] == "all"


def test_seed_and_settings_reach_the_scenario(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--seed", 12, "--set", "topology.delay=9 us", "--json")
    summary = json.loads(done.stdout)["summary"]
    assert summary["seed"] == 12
    assert summary["overrides"] == {"set": {"topology.delay": "9 us"}}
    assert (
        'delay = "9 us"'
        in (small.parent / "out" / "small-expresspass-seed-12-topology.delay-9us" / "scenario.toml").read_text()
    )


def test_a_resolved_scenario_gives_the_same_run(cli: Cli, small: Path) -> None:
    assert cli("run", small, "--out", "first").returncode == 0
    assert cli("run", "first/scenario.toml", "--out", "second").returncode == 0
    first, second = (clearway.load(small.parent / name) for name in ("first", "second"))
    assert first.hash == second.hash
    assert first.scenario == second.scenario


def test_compare_shows_transports_side_by_side(cli: Cli, small: Path) -> None:
    done = cli("compare", small, "--transports", "expresspass,dctcp", "--out", "both")
    assert done.returncode == 0, done.stderr
    assert clearway.load(small.parent / "both" / "dctcp").transports == ["dctcp"]
    assert clearway.load(small.parent / "both" / "expresspass").transports == ["expresspass"]
    page = cli("report", "both", "--out", "page.html")
    assert page.returncode == 0, page.stderr
    assert "<svg" in (small.parent / "page.html").read_text()


def test_markup_in_names_is_text(cli: Cli, small: Path) -> None:
    names = "[/red] [bold]b[/] :smile:", "[/b]"
    small.write_text(SMALL.replace('"small"', f'"{names[0]}"').replace('"burst"', f'"{names[1]}"'))
    for call in (["run", small, "--out", "one"], ["compare", small, "--transports", "dctcp,cubic", "--out", "two"]):
        done = cli(*call)
        assert done.returncode == 0, done.stderr
        assert f"{names[0]}, seed 7\n" in done.stdout
    again = cli("run", small, "--out", "two")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert cli("report", "one", "two", "--out", "[/red].html").stderr == "Report: [/red].html\n"
    assert "[/red] [bold]b[/] :smile:" in (small.parent / "[/red].html").read_text("utf-8")
    assert "[/red]" in cli("list", "transports", "[/red]").stderr


@pytest.mark.parametrize(
    "call",
    [
        ["compare", "small.toml", "--transports", "dctcp,expresspass"],
        ["run", "small.toml", "--json"],
        ["list", "transports"],
        ["list", "transports", "--json"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_early_is_no_failure(small: Path, call: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "clearway", *call], cwd=small.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert b"rror" not in errors
    assert b"pipe" not in errors
    if call[0] in ("compare", "run"):
        assert find_runs(small.parent / "out")


BAD_SCENARIOS = {
    "unknown key": SMALL.replace("hosts = 4", "hosts = 4\nhostss = 5"),
    "wrong unit": SMALL.replace('"64 KB"', '"64 us"'),
    "negative size": SMALL.replace('"64 KB"', '"-64 KB"'),
    "no such host": SMALL.replace("senders = 3", 'senders = ["h9"]'),
    "no such transport": SMALL.replace('"expresspass"', '"expresspas"'),
    "no parameter of the transport": SMALL.replace('"expresspass"', '{ name = "dctcp", w_init = 0.5 }'),
    "not TOML": "name = = 5\n",
    "empty": "",
}


@pytest.mark.parametrize("what", BAD_SCENARIOS)
def test_a_bad_scenario_is_one_line_and_writes_nothing(cli: Cli, tmp_path: Path, what: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(BAD_SCENARIOS[what])
    for command in (["run", path], ["compare", path, "--transports", "expresspass,dctcp"]):
        done = cli(*command)
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "bad.toml" in done.stderr
        assert files(tmp_path) == {"bad.toml"}


def test_a_file_that_is_not_utf8_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b'name = "\xff\xfe"\n')
    done = cli("run", "bad.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "UTF-8" in done.stderr


BAD_CALLS = [
    ["run", "nowhere.toml"],
    ["run"],
    ["run", "small.toml", "--transport", "tcp-of-tomorrow"],
    ["run", "small.toml", "--set", "topology.delay"],
    ["run", "small.toml", "--set", "topology.delays=1 us"],
    ["run", "small.toml", "--set", "seed=1", "--set", "seed=2"],
    ["run", "small.toml", "--seed", "-1"],
    ["run", "small.toml", "--seed", "many"],
    ["run", "small.toml", "--threads", "0"],
    ["run", "small.toml", "--colour"],
    ["run", "small.toml", "--out", "small.toml"],
    ["compare", "small.toml", "--transports", ","],
    ["compare", "small.toml", "--transports", "dctcp,dctcp"],
    ["compare", "small.toml", "--transports", "dctcp,nothing"],
    ["list", "planets"],
    ["list", "transports", "nothing"],
    ["report", "nowhere"],
    ["report", "."],
    ["report", "small.toml"],
    ["reproduce", "expresspass/text", "--out", "small.toml"],
    ["reproduce", "expresspass/text", "--check", "--docs", "nowhere"],
    ["parity", "ns2", "--flows", "nowhere"],
    ["parity", "ns2", "--flows", "small.toml"],
    ["parity", "hpcc-ns3-dctcp", "--flows", "small.toml"],
    ["parity", "ns2", "--write", "small.toml"],
    ["parity", "ns2", "--docs", "nowhere.md"],
    ["plan", "buffers", "fat-tree", "k=4", "k=4"],
    ["plan", "stability", "pacc", "--period", "1e-300 us"],
    ["plan", "stability", "pacc", "--rate", "1e30 Gbps"],
    ["demo", "--scenarios", "small.toml"],
    ["frobnicate"],
]


@pytest.mark.parametrize("call", BAD_CALLS, ids=" ".join)
def test_a_bad_call_is_one_line_and_writes_nothing(cli: Cli, small: Path, call: list[str]) -> None:
    done = cli(*call)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("clearway: ")
    assert done.stderr.count("\n") == 1
    assert files(small.parent) == {"small.toml"}


def test_a_group_of_commands_without_one_shows_its_help(cli: Cli) -> None:
    done = cli("plan", "stability")
    assert (done.returncode, done.stdout) == (2, "")
    assert "\nCommands:\n" in done.stderr


def test_a_report_has_a_name(cli: Cli, small: Path) -> None:
    assert cli("run", small, "--out", "results", "--quiet").returncode == 0
    for name in ("", "results"):
        done = cli("report", "results", "--out", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "can't write the report" in done.stderr


def test_a_folder_of_something_else_is_left_alone(cli: Cli, small: Path) -> None:
    keep = small.parent / "mine" / "thesis.tex"
    keep.parent.mkdir()
    keep.write_text("years of work")
    refused = cli("run", small, "--out", "mine")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert files(small.parent) == {"small.toml", "mine/thesis.tex"}
    assert cli("run", small, "--out", "mine", "--force").returncode == 0
    assert keep.read_text() == "years of work"
    assert clearway.load(keep.parent).name == "small"


def test_list_shows_all_about_a_transport(cli: Cli) -> None:
    assert "expresspass" in cli("list", "transports").stdout
    shown = cli("list", "transports", "expresspass").stdout
    assert "Checked against: paper and code." in shown
    for parameter in next(t for t in clearway.transports() if t["name"] == "expresspass")["parameters"]:
        assert parameter["name"] in shown
    named = {entry["name"] for entry in json.loads(cli("list", "transports", "--json").stdout)}
    assert {"expresspass", "dctcp", "newreno", "cubic", "naive-credit"} <= named
    for what in ("topologies", "workloads"):
        assert json.loads(cli("list", what, "--json").stdout)


@pytest.mark.parametrize("command", ["run", "compare", "list", "report", "demo"])
def test_help_has_examples(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout


def test_without_a_command_there_is_help(cli: Cli) -> None:
    done = cli()
    assert done.returncode == 0
    assert "Commands:" in done.stdout


def test_the_demonstration_runs_in_small(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo", "--quick")
    assert done.returncode == 0, done.stderr
    assert "websearch" in done.stdout
    assert "<svg" in (tmp_path / "out" / "report" / "index.html").read_text("utf-8")
    assert len(list((tmp_path / "out" / "demo-quick").iterdir())) == 11
    elsewhere = cli("demo", "--scenarios", "nowhere")
    assert (elsewhere.returncode, elsewhere.stderr.count("\n")) == (2, 1)


def test_example_scenarios_come_with_the_package_and_run(cli: Cli, tmp_path: Path) -> None:
    names = [one["name"] for one in _clearway.scenarios()]  # those that are compiled in, for the demonstration
    files = {path.stem: path for path in (REPOSITORY / "scenarios").glob("*.toml")}
    assert sorted(set(files) - set(names)) == ["deadlock"], "only an example that needs another file is left out"
    for name in names:
        assert cli("list", "scenarios", name).stdout == files[name].read_text("utf-8")
    (tmp_path / "one.toml").write_text(cli("list", "scenarios", "dumbbell").stdout)
    assert cli("run", "one.toml", "--set", "stop=1 ms").returncode == 0


@pytest.mark.parametrize("command", [["run"], ["compare", "--transports", "dctcp,expresspass"]])
def test_ctrl_c_leaves_a_partial_result(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    arguments = [sys.executable, "-m", "clearway", *command, "endless.toml", "--out", "part"]
    process = subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(6)  # Start-up takes one second, and several where other work shares the cores.
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    folder = tmp_path / "part" / ("dctcp" if command[0] == "compare" else "")
    run = clearway.load(folder)
    assert run.interrupted
    assert 0 < run.summary["simulated_s"] < 1000
    assert run.flows["delivered_bytes"].sum() > 0
