"""Tests of `make bench-peers` with programs that stand in for a build of Clearway and for those of htsim."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY
from test_bench import build, tool

import clearway
from clearway import _clearway, runner

PERMUTATION = "permutation-128-uec-nscc"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that compares with other simulators."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools" / "bench")
    return importlib.import_module("peers")


def ours(folder: Path, mean_us: float | None = 100.0) -> Path:
    """A build of Clearway whose runs of scenarios have this mean completion time and as many flows as the matrix."""
    program = build(folder)
    first, rest = program.read_text("utf-8").split("\n", 1)
    outcome = json.dumps({"flows": 128, "mean_completion_us": mean_us})
    program.write_text(
        f"{first}\n[ $1 = --scenario ] && {{ echo \"$@\" >> {folder}/asked; echo '{outcome}'; exit; }}\n{rest}"
    )
    return program


def theirs(folder: Path, name: str = "htsim_uec", *, time_us: str = "100.5", skipped: int = 0) -> Path:
    """A program that prints what htsim prints: every flow of its matrix, but so many, finishes at this time."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(
        f"""#!/bin/sh
echo "$@" >> {folder}/asked
case "$1 $3" in
  "-tm -topo") [ $(basename $0) = htsim_uec ] && grep -q '^Tiers 3$' $4 || exit 3;;
  "-tm -nodes") [ $(basename $0) != htsim_uec ] && [ "$4 $5 $6" = "128 -tiers 3" ] || exit 3;;
  *) exit 3;;
esac
echo 'Packet size (MTU) is 4150'
grep -e '->' $2 | tail -n +{skipped + 1} | while read pair id number rest; do
  echo "Flow Uec_$pair flowId $number uecSrc starting at 0"
  echo "Flow Uec_$pair flowId $number uecSrc finished at {time_us} total messages 1 total packets 2448 RTS 0"
done
echo 'New: 313344 Rtx: 0 RTS: 0 Bounced: 0 ACKs: 78592 NACKs: 0 Pulls: 0 sleek_pkts: 0'
"""
    )
    program.chmod(0o755)
    return program


def test_both_programs_run_the_same_flows_in_turns_and_agree(tmp_path: Path) -> None:
    program, file = ours(tmp_path / "this"), tmp_path / "out.json"
    common = ("peers", "--program", program, "--only", PERMUTATION, "--json", file)
    done = tool(*common, "--uec", theirs(tmp_path / "peer"), "--rounds", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(file.read_text("utf-8"))
    assert set(found) >= {"machine", "build", "day", "load_average", "rounds"}
    (row,) = found["comparisons"]
    assert (row["name"], row["program"], row["flows"]) == (PERMUTATION, "htsim_uec", 128)
    assert (row["theirs_mean_us"], row["ours_mean_us"], row["agrees"]) == (100.5, 100.0, True)
    assert len(row["theirs_cpu_s"]) == len(row["ours_cpu_s"]) == 2
    assert row["interval"][0] <= row["ratio"] <= row["interval"][1]
    asked = (tmp_path / "peer" / "asked").read_text("utf-8").splitlines()
    options = "-tm flows.cm -topo tree.topo -linkspeed 400000 -end 20000"
    assert asked == [f"{options} -seed {seed} -sender_cc_only" for seed in (1, 2)]
    seeds = (tmp_path / "this" / "asked").read_text("utf-8").splitlines()
    assert seeds == [f"--scenario peers.toml --set seed={seed}" for seed in (1, 2)]
    assert "load average" in done.stdout
    assert "theirs 100.50 us, ours 100.00 us (-0.5%)" in done.stdout


def test_mean_completion_times_that_differ_fail(tmp_path: Path) -> None:
    peer = theirs(tmp_path / "peer", time_us="1.1e+02")
    done = tool("peers", "--program", ours(tmp_path / "this"), "--only", PERMUTATION, "--uec", peer, "--rounds", "1")
    assert done.returncode == 1
    assert "mean completion times differ by -9.1%, and 3% are allowed: the programs did different work" in done.stdout


def test_a_program_that_prints_something_else_is_refused_with_its_last_lines(tmp_path: Path) -> None:
    common = ("peers", "--program", ours(tmp_path / "this"), "--only", PERMUTATION, "--rounds", "1")
    done = tool(*common, "--uec", theirs(tmp_path / "peer", skipped=3))
    assert done.returncode == 1
    assert "finished at MICROSECONDS ...` for 125 flows, where 128 were to finish within 20000 us" in done.stderr
    assert "sleek_pkts: 0" in done.stderr
    (tmp_path / "peer" / "htsim_uec").write_text("#!/bin/sh\necho Unknown parameter -topo\nexit 1\n")
    done = tool(*common, "--uec", tmp_path / "peer" / "htsim_uec")
    assert done.returncode == 1
    assert "-sender_cc_only: ends with status 1 and says: Unknown parameter -topo" in done.stderr


def test_a_run_here_that_completes_not_all_flows_is_refused(tmp_path: Path) -> None:
    program, peer = ours(tmp_path / "this", None), theirs(tmp_path / "peer")
    done = tool("peers", "--program", program, "--only", PERMUTATION, "--uec", peer, "--rounds", "1")
    assert done.returncode == 1
    assert "--set seed=1: does not complete all 128 flows within 20000 us of simulated time" in done.stderr


def test_programs_that_are_not_there_are_named_with_what_to_write(tmp_path: Path) -> None:
    program = ours(tmp_path / "this")
    done = tool("peers", "--program", program)
    assert done.returncode == 1
    assert "write `make bench-peers UEC=path/of/htsim_uec`" in done.stderr
    done = tool("peers", "--program", program, "--uec", tmp_path)
    assert f"UEC={tmp_path}: is no program; name the htsim_uec that a build of uet-htsim made" in done.stderr
    done = tool("peers", "--program", program, "--htsim", tmp_path)
    assert f"HTSIM={tmp_path}: has no htsim_eqds and no htsim_ndp" in done.stderr
    done = tool("peers", "--program", program, "--uec", theirs(tmp_path / "peer"), "--only", "eqds")
    assert "the comparisons that were asked for need htsim_eqds, which was not named" in done.stderr
    theirs(tmp_path / "peer", "htsim_ndp")
    done = tool("peers", "--program", program, "--htsim", tmp_path / "peer", "--only", "128", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert "permutation-128-eqds        is left out: htsim_eqds was not named" in done.stdout
    assert "permutation-128-ndp" in done.stdout


def test_clearway_reads_the_files_of_each_comparison_as_the_tree_and_flows_that_they_are_to_be(
    peers: ModuleType, tmp_path: Path
) -> None:
    for contest in peers.contests():
        (tmp_path / "flows.cm").write_text(contest.matrix(0.01))
        (tmp_path / "tree.topo").write_text(contest.tree())
        (tmp_path / "peers.toml").write_text(contest.scenario())
        network = _clearway.network(runner.load_scenario(tmp_path / "peers.toml"))
        assert (network["hosts"], len(network["names"])) == (contest.hosts, contest.hosts + 5 * contest.k**2 // 4)
        assert set(network["rate_bps"]) == {contest.gbps * 10**9}
        assert set(network["delay_ps"]) == {10**6}
        pairs = list(contest.pairs())
        assert all(src != dst for src, dst in pairs)
        assert sorted(dst for _, dst in pairs) == [src for src, _ in pairs] == list(range(contest.hosts))


def test_a_comparison_of_a_few_kilobytes_completes_here(peers: ModuleType, tmp_path: Path) -> None:
    contest = next(contest for contest in peers.contests() if contest.name == PERMUTATION)
    (tmp_path / "flows.cm").write_text(contest.matrix(0.001))
    (tmp_path / "tree.topo").write_text(contest.tree())
    (tmp_path / "peers.toml").write_text(contest.scenario())
    run = clearway.run(tmp_path / "peers.toml")
    assert run.flows["size_bytes"].to_list() == [10_000] * 128
    assert run.flows["acked_s"].is_finite().all()
