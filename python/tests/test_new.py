"""`clearway new`: scenarios to start from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from conftest import Cli

import clearway
from clearway import _clearway
from clearway.scenario.json_schema import scenario_schema
from clearway.scenario.template import PATTERNS, shapes, template

TRANSPORTS = [transport["name"] for transport in _clearway.transports()]
WORKLOADS = [workload["name"] for workload in _clearway.workloads()]


@pytest.mark.parametrize("shape", shapes())
def test_every_pattern_is_a_scenario_on_every_network(shape: str) -> None:
    for pattern in PATTERNS:
        loaded = _clearway.Scenario.parse(template("mine", shape, "expresspass", pattern), "<new>", ".")
        assert loaded.name == "mine"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_transport_runs_as_it_is(transport: str) -> None:
    run = clearway.run(template("mine", "star", transport, "flows"))
    assert run.transports == [transport]
    assert run.summary["ended"] == "complete"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_runs_as_it_is(pattern: str) -> None:
    assert clearway.run(template("mine", "leaf-spine", "dctcp", pattern)).summary["ended"] == "complete"


def test_every_workload_is_one_for_poisson_traffic() -> None:
    for workload in WORKLOADS:
        text = template("mine", "leaf-spine", "dctcp", "poisson", workload)
        assert f'workload = "{workload}"' in _clearway.Scenario.parse(text, "<new>", ".").to_toml()


def test_every_key_is_there_with_its_documentation() -> None:
    text = template("mine", "leaf-spine", "expresspass", "poisson")
    words = " ".join(line.removeprefix("# ") for line in text.splitlines())
    for table in _clearway.scenario_tables():
        kinds = [kind for kind in table["kinds"] if kind["name"] in ("leaf-spine", "poisson")]
        keys = [*table["keys"], *(key for kind in kinds for key in kind["keys"])]
        for key in keys:
            if key["forms"][0]["form"] != "tables" and table["path"] != "traffic.list":
                assert re.search(rf"^#?{key['name']} = ", text, flags=re.MULTILINE), key["name"]
                if key["name"] != "kind":
                    assert " ".join(key["doc"].split()) in words, key["name"]
    for parameter in next(one for one in _clearway.transports() if one["name"] == "expresspass")["parameters"]:
        assert f"\n#{parameter['name']} = " in text


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_line_behind_a_hash_is_a_key_with_a_value_that_it_may_have(transport: str) -> None:
    text = template("mine", "fat-tree", transport, "incast")
    validator = jsonschema.Draft202012Validator(scenario_schema())
    lines = text.splitlines()
    hidden = [at for at, line in enumerate(lines) if re.match(r"#[a-z_0-9]+ = ", line)]
    assert len(hidden) > 80
    head, problems = "", list[str]()
    for at, line in enumerate(lines):
        head = line if re.match(r"#?\[", line) else head
        # All but the parameters of the transport is the same for each, and looked at once.
        if at not in hidden or (transport != TRANSPORTS[0] and head != "[transport]"):
            continue
        # A table behind a # is taken in with the keys that it must have.
        shown = [*lines[:at], line[1:], *lines[at + 1 :]]
        if head.startswith("#["):
            start = max(index for index in range(at) if lines[index] == head)
            end = next((index for index in range(at, len(lines)) if re.match(r"#?\[", lines[index])), len(lines))
            shown[start] = head[1:]
            for index in range(start, end):
                if "required)" in " ".join(lines[max(0, index - 2) : index]) and re.match("#[a-z]", lines[index]):
                    shown[index] = lines[index][1:]
        changed = "\n".join(shown)
        assert [error.message for error in validator.iter_errors(tomllib.loads(changed))] == [], line
        try:
            _clearway.Scenario.parse(changed, "<new>", ".")
        except _clearway.ScenarioError as error:
            problems.append(str(error))
    # Some keys mean nothing in this scenario, or need another; none has a value that is out of range.
    assert [problem for problem in problems if "must be" in problem] == []


def test_the_file_is_written_and_runs(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "web.toml", "--shape", "star", "--workload", "cache-follower", "--transport", "dctcp")
    assert (done.returncode, done.stdout) == (0, "")
    run = cli("run", "web.toml", "--set", "traffic.web.flows=20", "--quiet")
    assert run.returncode == 0, run.stderr
    assert cli("new", "-").stdout.startswith("# A scenario of Clearway.")
    before = (tmp_path / "web.toml").read_text("utf-8")
    again = cli("new", "web.toml")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "web.toml: is there already" in again.stderr
    assert (tmp_path / "web.toml").read_text("utf-8") == before


@pytest.mark.parametrize(
    "call",
    [["nowhere/web.toml"], ["a.toml", "--shape", "ring"], ["a.toml", "--pattern", "long", "--workload", "web-search"]],
)
def test_a_call_that_can_not_be_served_is_one_line(cli: Cli, tmp_path: Path, call: list[str]) -> None:
    done = cli("new", *call)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []
