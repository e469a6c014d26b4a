"""The same scenario and seed give the same results: through Rust, the command and Python, twice, and with probes."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMALL, Cli

import clearway

PROBES = """
[[sample]]
what = "queue"
every = "1 us"

[[sample]]
what = "throughput"
every = "3 us"
"""


#: Flow control stops the senders, marks and notifications slow them down, and RED draws at random.
RDMA = """\
name = "rdma"
seed = 7
transport = "dcqcn"

[topology]
kind = "star"
hosts = 9

[switch]
shared_buffer = "500 KB"

[[traffic]]
name = "burst"
kind = "incast"
senders = 8
size = "256 KB"
rounds = 2
"""


#: Switches cut packets that find no room, a coin says which, and each packet chooses one of several paths.
PULLS = """\
name = "pulls"
seed = 7
transport = "ndp"

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2

[switch]
trim_victim = "coin"

[[traffic]]
name = "burst"
kind = "incast"
senders = 8
size = "256 KB"
"""


@cache
def example() -> Path:
    """The Rust program, built for the whole workspace, as the Rust tests have it: so cargo need not build it twice."""
    command = ["cargo", "build", "--quiet", "--locked", "--workspace", "--example", "hash"]
    target = REPOSITORY / os.environ.get("CARGO_TARGET_DIR", "target")
    environment, folder = dict(os.environ), target / "debug"
    if profile := os.environ.get("TEST_PROFILE"):
        # As `make test` has the Rust tests then.
        environment |= {"CARGO_TARGET_DIR": f"{target}/tests", "CARGO_BUILD_BUILD_DIR": str(target)}
        command, folder = [*command, "--profile", profile], target / "tests" / "release"
    subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, timeout=600, check=True)
    return folder / "examples" / "hash"


def rust_hash(path: Path) -> str:
    command = [str(example()), str(path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=600, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("transport", ["expresspass", "dctcp"])
def test_rust_command_and_python_agree(cli: Cli, tmp_path: Path, transport: str) -> None:
    same_through_all(cli, tmp_path, SMALL.replace("expresspass", transport))


def test_rust_command_and_python_agree_on_rdma_under_flow_control(cli: Cli, tmp_path: Path) -> None:
    run = same_through_all(cli, tmp_path, RDMA)
    assert run.summary["flow_control"]["pauses"] > 0
    assert run.summary["notices"] > 0


@pytest.mark.parametrize("transport", ["ndp", "eqds", "uec-nscc", "uec-rccc", "uec"])
def test_rust_command_and_python_agree_where_packets_are_cut_and_choose_their_paths(
    cli: Cli, tmp_path: Path, transport: str
) -> None:
    run = same_through_all(cli, tmp_path, PULLS.replace("ndp", transport))
    assert run.ports["trims"].sum() > 0
    assert 'routing = "entropy"' in run.scenario


def same_through_all(cli: Cli, tmp_path: Path, text: str) -> clearway.Run:
    """Runs a scenario through all three, twice, with and without probes; all hashes are the same."""
    (tmp_path / "plain.toml").write_text(text)
    (tmp_path / "probed.toml").write_text(text + PROBES)
    hashes = {}
    for name in ("plain", "probed"):
        path = tmp_path / f"{name}.toml"
        run = clearway.run(path)
        hashes[f"python, {name}"] = run.hash
        hashes[f"python again, {name}"] = clearway.run(path).hash
        said = cli("run", path, "--json", "--out", tmp_path / name).stdout
        hashes[f"command, {name}"] = json.loads(said)["summary"]["hash"]
        hashes[f"rust, {name}"] = rust_hash(path)
        assert (run.samples.height > 0) == (name == "probed")
    assert len(set(hashes.values())) == 1, hashes
    return run


def test_the_seed_matters() -> None:
    text = SMALL.replace('kind = "incast"', 'kind = "poisson"').split("senders")[0]
    text += 'workload = "web-search"\nload = 0.3\nflows = 20\n'
    assert clearway.run(text, seed=1).hash != clearway.run(text, seed=2).hash
