"""The JSON Schema of scenario files: it accepts what Clearway accepts, and refuses mistakes of shape and type."""

from __future__ import annotations

import copy
import json
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli_w
from conftest import REPOSITORY, SMALL, Cli

from clearway import _clearway
from clearway.scenario.json_schema import scenario_schema

SCHEMA = scenario_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SCENARIOS = sorted((REPOSITORY / "scenarios").glob("*.toml"))


def faults(content: dict[str, Any]) -> list[str]:
    """What the schema finds wrong."""
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(content)]


def is_refused(content: dict[str, Any]) -> bool:
    """True if Clearway refuses a scenario."""
    try:
        _clearway.Scenario.parse(tomli_w.dumps(content), "<text>", REPOSITORY / "scenarios")
    except _clearway.ScenarioError:
        return True
    return False


def test_the_schema_is_one_for_old_and_new_editors() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_every_scenario_is_valid_as_written_and_as_resolved(path: Path) -> None:
    assert faults(tomllib.loads(path.read_text("utf-8"))) == []
    resolved = _clearway.Scenario.load(path).to_toml()
    assert faults(tomllib.loads(resolved)) == []


@pytest.mark.parametrize("name", [transport["name"] for transport in _clearway.transports()])
def test_every_transport_is_valid_with_all_its_parameters(name: str) -> None:
    resolved = _clearway.Scenario.parse(SMALL, "<text>", ".", transport=name).to_toml()
    assert faults(tomllib.loads(resolved)) == []
    wrong = tomllib.loads(resolved.replace(f'name = "{name}"', f'name = "{name}"\nwindow_of_opportunity = 1'))
    assert faults(wrong)
    assert is_refused(wrong)


MISTAKES = {
    "unknown table": SMALL + "\n[topologi]\nhosts = 3\n",
    "unknown key of the top level": "sed = 3\n" + SMALL,
    "unknown key of the shape": SMALL.replace("hosts = 4", "hosts = 4\nhostss = 5"),
    "key of another shape": SMALL.replace("hosts = 4", "hosts = 4\nspines = 5"),
    "unknown shape": SMALL.replace('"star"', '"ring"'),
    "no shape": SMALL.replace('kind = "star"', ""),
    "unknown kind of traffic": SMALL.replace('"incast"', '"outcast"'),
    "key of another kind of traffic": SMALL.replace("rounds = 2", "rounds = 2\nload = 0.5"),
    "no traffic": SMALL[: SMALL.index("[[traffic]]")],
    "traffic that is one table": SMALL.replace("[[traffic]]", "[traffic]"),
    "unknown transport": SMALL.replace('"expresspass"', '"expresspas"'),
    "unknown transport in a table": SMALL.replace('"expresspass"', '{ name = "expresspas" }'),
    "transport without a name": SMALL.replace('"expresspass"', "{ alpha = 0.5 }"),
    "parameter of another transport": SMALL.replace('"expresspass"', '{ name = "dctcp", w_init = 0.5 }'),
    "parameter out of range": SMALL.replace('"expresspass"', '{ name = "expresspass", w_init = 50 }'),
    "unknown profile": SMALL.replace('"expresspass"', '{ name = "expresspass", profile = "sigcomm71" }'),
    "time for a size": SMALL.replace('"64 KB"', '"64 us"'),
    "size without a unit": SMALL.replace('"64 KB"', '"64"'),
    "negative size": SMALL.replace('"64 KB"', '"-64 KB"'),
    "size that is a number": SMALL.replace('"64 KB"', "64"),
    "text for a number": SMALL.replace("rounds = 2", 'rounds = "two"'),
    "fraction for a whole number": SMALL.replace("rounds = 2", "rounds = 2.5"),
    "number out of range": SMALL.replace("rounds = 2", "rounds = 0"),
    "negative seed": SMALL.replace("seed = 7", "seed = -7"),
    "number for a name": SMALL.replace('name = "small"', "name = 5"),
    "name of traffic with a dot": SMALL.replace('name = "burst"', 'name = "a.b"'),
    "name of traffic that is a number": SMALL.replace('name = "burst"', 'name = "12"'),
    "word for true or false": SMALL.replace("rounds = 2", 'barrier = "yes"'),
    "list of numbers and truth": SMALL.replace("senders = 3", "senders = [true]"),
    "unknown routing": SMALL + '\n[network]\nrouting = "ecpm"\n',
    "link of three ends": SMALL + '\n[[link]]\nlink = ["h0", "h1", "s0"]\n',
    "loss without a share": SMALL + '\n[[loss]]\nlink = "all"\n',
    "share without its key": SMALL.replace("kind = \"incast\"", 'kind = "permutation"').replace(
        "senders = 3", "hosts = { from = 0.5 }").replace("rounds = 2", ""),
    "class without a name": SMALL + "\n[[switch.class]]\npriority = 1\n",
    "buffer of no unit": SMALL + '\n[switch]\nbuffer = "250 parcels"\n',
    "sample without its quantity": SMALL + '\n[[sample]]\nevery = "1 us"\n',
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_of_shape_and_type_are_refused_by_both(what: str) -> None:
    content = tomllib.loads(MISTAKES[what])
    assert is_refused(content)
    assert faults(content)


def test_an_error_names_the_key_that_is_wrong() -> None:
    assert faults(tomllib.loads(MISTAKES["unknown key of the shape"])) == [
        "$.topology: Additional properties are not allowed ('hostss' was unexpected)"
    ]
    (text,) = faults(tomllib.loads(MISTAKES["time for a size"]))
    assert text.startswith("$.traffic[0].size: '64 us' does not match")


STRANGE = [
    0, 1, -1, 3, 2**40, 0.5, 1e-9, -0.5, True, False, "", " ", "0", "1", "+7", "-1", "0.5", "1e3", ".5", "all", "auto",
    "random", "true", "h0", "tor0", "1 us", "1us", " 2 ms ", ".5 us", "1_000 B", "64 KB", "1.5 KiB", "10 Gbps", "1e3 B",
    "10 kbps", "250 packets", "1 packet", "0 slots", "unlimited", "off", "by-rate", "web", "a.b", "7", "dctcp",
    "expresspass", "own", [], ["h0", "h1"], [["h0", "h1"]], [0, 1], [0.5, "1 us"], {}, {"share": 0.5}, {"from": 0.5},
    {"share": 0.5, "from": 0.25}, {"uniform": ["1 us", "2 us"]}, {"quantiles": [[0, "1 us"], [1, "2 us"]]},
    {"uniform": ["1 us"]}, {"name": "dctcp"}, {"name": "expresspass", "w_init": 0.25},
]  # fmt: skip


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of all values inside a value."""
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in entries:
        yield (*path, key)
        yield from places(inside, (*path, key))


def changed(content: dict[str, Any], draw: random.Random, words: list[str]) -> dict[str, Any]:
    """A scenario with a value replaced, a key taken away, or a key added."""
    found: Any = copy.deepcopy(content)
    *way, last = draw.choice(list(places(found)))
    inside = found
    for step in way:
        inside = inside[step]
    how = draw.random()
    if how < 0.2:
        del inside[last]
    elif how < 0.5 and isinstance(inside, dict):
        inside[draw.choice(words)] = draw.choice(STRANGE)
    else:
        inside[last] = draw.choice(STRANGE)
    return dict(found)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_what_the_schema_refuses_clearway_refuses(path: Path) -> None:
    content = tomllib.loads(_clearway.Scenario.load(path).to_toml())
    words = sorted({key["name"] for table in _clearway.scenario_tables() for key in table["keys"]})
    words += sorted(
        {key["name"] for table in _clearway.scenario_tables() for of in table["kinds"] for key in of["keys"]}
    )
    draw = random.Random(path.name)
    refused = 0
    for _ in range(50):
        mutant = changed(content, draw, words)
        found = faults(mutant)
        refused += bool(found)
        assert not found or is_refused(mutant), f"{found}\n{tomli_w.dumps(mutant)}"
    assert refused > 15


def test_the_command_prints_the_schema_or_writes_it(cli: Cli, tmp_path: Path) -> None:
    assert json.loads(cli("schema").stdout) == SCHEMA
    assert cli("schema", "--out", "scenario.schema.json").returncode == 0
    assert json.loads((tmp_path / "scenario.schema.json").read_text("utf-8")) == SCHEMA
    refused = cli("schema", "--out", "nowhere/scenario.schema.json")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_every_key_has_a_documentation() -> None:
    def undescribed(schema: dict[str, Any], path: str) -> Iterator[str]:
        for name, one in schema.get("properties", {}).items():
            if not one.get("description"):
                yield f"{path}.{name}"
            yield from undescribed(one.get("items", one), f"{path}.{name}")

    assert [path for path in undescribed(SCHEMA, "") if not path.startswith(".traffic.transport")] == []


@pytest.mark.parametrize("delay", ["4 us", "4 \u00b5s", "4\u03bcs"])
def test_microseconds_are_valid_with_each_of_their_letters(delay: str) -> None:
    content = tomllib.loads(SMALL)
    content["topology"]["delay"] = delay
    VALIDATOR.validate(content)
    content["topology"]["delay"] = delay.replace("s", "S")
    assert not VALIDATOR.is_valid(content)
