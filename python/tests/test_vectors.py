"""Test vectors: a second implementation agrees with every step, and the checker finds what differs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import REPOSITORY, Cli
from second.paths import Paths
from second.window import Window

from clearway import _clearway, vectors
from clearway.command.vectors import ALGORITHMS, READINGS

#: The beginning of the SHA-256 of each file with the seed 1, without its line on the version of Clearway.
GOLDEN = {
    "nscc.specification.json": "f89f1fde0f01e4a3",
    "nscc.htsim.json": "5f4370517daf8f5c",
    "rccc.specification.json": "d8bc39aa57dda46d",
    "rccc.htsim.json": "0b906fb053f59e57",
    "reps.specification.json": "c6f6ed889f66eb38",
    "reps.htsim.json": "ae4b6279e0e6f288",
    "flow.specification.json": "7ad376dd241d7728",
    "flow.htsim.json": "44709bb18e867abd",
}

VALIDATOR = jsonschema.Draft202012Validator(json.loads(vectors.schema_text()))
#: The second implementation as a program.
SECOND = [sys.executable, "-m", "second"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all vectors."""
    path = tmp_path_factory.mktemp("vectors")
    vectors.write(path, vectors.algorithms(), vectors.readings())
    return path


def check(folder: Path, *words: str, adapter: list[str]) -> subprocess.CompletedProcess[str]:
    """What the checker says of an adapter."""
    command = [sys.executable, str(folder / "check_vectors.py"), *words, "--", *adapter]
    tests = REPOSITORY / "python" / "tests"
    return subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=200, check=False)


def program(folder: Path, text: str) -> list[str]:
    """An adapter with this text."""
    path = folder / "adapter.py"
    path.write_text(text, "utf-8")
    return [sys.executable, str(path)]


@pytest.mark.parametrize("name", GOLDEN)
def test_files_are_the_same_bytes_everywhere(name: str, folder: Path) -> None:
    lines = (folder / name).read_text("utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith('"clearway": '))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == GOLDEN[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_second_implementation_agrees_with_every_step(name: str, folder: Path) -> None:
    done = check(folder, str(folder / name), adapter=SECOND)
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(json.loads((folder / name).read_text("utf-8"))["cases"])
    assert f"{count} of {count} cases agree" in done.stdout


@pytest.mark.parametrize(
    ("step", "most"),
    [(5, 60), pytest.param(1, None, marks=pytest.mark.slow)],
    ids=["60 steps of each fifth case", "every case"],
)
@pytest.mark.parametrize("name", GOLDEN)
def test_files_have_the_format_that_is_stated(name: str, step: int, most: int | None, folder: Path) -> None:
    file = json.loads((folder / name).read_text("utf-8"))
    file["cases"] = [{**case, "steps": case["steps"][:most]} for case in file["cases"][::-step]]
    assert [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(file)] == []
    file["cases"][0]["steps"][0]["input"]["surprise"] = 1
    assert not VALIDATOR.is_valid(file)
    del file["cases"][0]["steps"][0]["input"]
    assert not VALIDATOR.is_valid(file)


def test_the_published_schema_is_that_of_the_files(folder: Path) -> None:
    published = (REPOSITORY / "docs" / "vectors.schema.json").read_text("utf-8")
    assert published == vectors.schema_text() == (folder / "vectors.schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(published))


def keys_of(schema: Any) -> list[tuple[str, Any]]:
    """The keys of all objects of a schema, with what it says of each."""
    if isinstance(schema, list):
        return [pair for one in schema for pair in keys_of(one)]
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties", {})
    own = list(properties.items()) if isinstance(properties, dict) else []
    return own + [pair for one in schema.values() for pair in keys_of(one)]


def test_every_key_is_explained_and_every_quantity_names_its_unit() -> None:
    schema = json.loads(vectors.schema_text())
    mute = [
        key for key, one in keys_of(schema) if not {"description", "const", "enum", "$ref", "oneOf", "anyOf"} & {*one}
    ]
    assert mute == []
    assert len(keys_of(schema)) > 100


def first_steps(folder: Path, name: str, case: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The first line and the steps of a case."""
    cases = json.loads((folder / name).read_text("utf-8"))["cases"]
    found = next(one for one in cases if one["name"] == case)
    return found["initial"], found["steps"]


@pytest.mark.parametrize(
    ("reading", "key", "wrong"),
    [("specification", "gamma", 0.7), ("htsim", "fi", 4.9), ("specification", "eta", 0.2), ("htsim", "gains", "mtu")],
)
def test_a_wrong_constant_is_found(reading: str, key: str, wrong: Any, folder: Path) -> None:
    initial, steps = first_steps(folder, f"nscc.{reading}.json", "drawn-100g")

    def off(first: dict[str, Any]) -> int:
        window = Window(first)
        answers = [window.step({"at_ps": step["at_ps"], **step["input"]}) for step in steps]
        pairs = zip(answers, steps, strict=True)
        return sum(abs(answer["cwnd_bytes"] - step["output"]["cwnd_bytes"]) > 1 for answer, step in pairs)

    assert off(initial) == 0
    assert off({**initial, key: wrong}) > 0


def test_a_ring_of_another_size_is_found(folder: Path) -> None:
    initial, steps = first_steps(folder, "reps.specification.json", "reps-full-ring")
    paths = Paths({**initial, "reps_places": 7})
    answers = [paths.step({"at_ps": step["at_ps"], **step["input"]}) for step in steps]
    assert answers != [step["output"] for step in steps]


#: An adapter whose window never moves.
STUCK = """\
import json, sys
for text in sys.stdin:
    print(json.dumps({"cwnd_bytes": 100000, "max_cwnd_bytes": 262926, "base_rtt_ps": 14022720}), flush=True)
"""


def test_the_first_step_that_differs_is_told_with_the_inputs_up_to_there(folder: Path, tmp_path: Path) -> None:
    vector = str(folder / "nscc.specification.json")
    done = check(folder, vector, "--case", "proportional-increase", adapter=program(tmp_path, STUCK))
    assert done.returncode == 1
    assert "case proportional-increase, step 1 of 6 differs: Below the target" in done.stdout
    assert "cwnd_bytes: expected 10" in done.stdout
    assert "answered 100000" in done.stdout
    assert "Clearway remembers then" in done.stdout
    assert '"kind": "initial"' in done.stdout
    assert '"kind": "ack"' in done.stdout
    assert "0 of 1 cases agree" in done.stdout
    wide = check(
        folder,
        vector,
        "--case",
        "proportional-increase",
        "--tolerance",
        "cwnd_bytes=99999",
        adapter=program(tmp_path, STUCK),
    )
    assert wide.returncode == 0, wide.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.stdin.readline()\nsys.exit(3)", "the adapter ended, with exit code 3"),
        ("import sys\nsys.stdin.readline()\nprint('ready', flush=True)\nsys.stdin.read()", "answered 'ready', where"),
        ("import sys\nsys.stdin.read()", "gave no answer within 1 s; does it flush its output?"),
    ],
)
def test_an_adapter_that_does_not_answer_is_named(text: str, said: str, folder: Path, tmp_path: Path) -> None:
    done = check(folder, str(folder / "reps.htsim.json"), "--wait", "1", adapter=program(tmp_path, text))
    assert done.returncode == 1
    assert "case reps-warm-up, step 0 of 12: " in done.stdout
    assert said in done.stdout


#: An adapter of plain lines, which draws every value.
PLAIN = """\
import sys
for text in sys.stdin:
    line = dict(word.split("=") for word in text.split())
    value = int(line["random"].split(",")[0]) % 64 if line["kind"] == "next" else 0
    print(f"entropy={value} drawn=1", flush=True)
"""


def test_an_adapter_may_speak_in_plain_words(folder: Path, tmp_path: Path) -> None:
    vector = str(folder / "reps.specification.json")
    done = check(folder, vector, "--plain", "--case", "reps-warm-up", adapter=program(tmp_path, PLAIN))
    assert done.returncode == 0, done.stdout + done.stderr
    done = check(folder, vector, "--plain", "--case", "reps-recycling", adapter=program(tmp_path, PLAIN))
    assert done.returncode == 1
    assert "drawn: expected false, answered 1" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.json"], "nowhere.json: can't be read: No such file or directory"),
        (["conftest.py"], "conftest.py: is no JSON"),
        (["{schema}"], 'is no file of test vectors, whose key "schema"'),
        (["{vector}", "--case", "nothing"], "--case nothing: no file has it; the cases are a-cut-ends-fast-increase, "),
        (["{vector}", "--tolerance", "cwnd"], "'cwnd': write a key and a whole number, such as cwnd_bytes=4"),
    ],
)
def test_the_checker_says_what_it_can_not_try(words: list[str], said: str, folder: Path) -> None:
    places = {"schema": folder / "vectors.schema.json", "vector": folder / "nscc.htsim.json"}
    done = check(folder, *(word.format(**places) for word in words), adapter=SECOND)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_checker_wants_an_adapter_that_can_be_run(folder: Path) -> None:
    vector = str(folder / "nscc.htsim.json")
    assert "./nowhere: can't be run: No such file or directory" in check(folder, vector, adapter=["./nowhere"]).stderr
    none = check(folder, vector, adapter=[])
    assert none.returncode == 2
    assert "name the adapter behind the word --" in none.stderr


def test_the_command_writes_what_was_asked_for(cli: Cli, tmp_path: Path, folder: Path) -> None:
    done = cli("vectors", "--algorithm", "reps,rccc", "--reading", "htsim", "--out", "few")
    assert done.returncode == 0, done.stderr
    names = ["reps.htsim.json", "rccc.htsim.json", "check_vectors.py", "vectors.schema.json"]
    assert done.stdout.splitlines() == [str(Path("few") / name) for name in names]
    assert "Check with: python3 few/check_vectors.py few/reps.htsim.json -- YOUR_ADAPTER" in done.stderr
    for name in names:
        assert (tmp_path / "few" / name).read_bytes() == (folder / name).read_bytes()
    assert cli("vectors", "--algorithm", "reps,rccc", "--reading", "htsim", "--out", "few").returncode == 0


def test_another_seed_draws_other_sequences_only(cli: Cli, tmp_path: Path, folder: Path) -> None:
    assert cli("vectors", "--algorithm", "nscc", "--reading", "htsim", "--seed", "2", "--out", "two").returncode == 0
    cases = [
        {case["name"]: case["steps"] for case in json.loads((place / "nscc.htsim.json").read_text("utf-8"))["cases"]}
        for place in (folder, tmp_path / "two")
    ]
    differ = [name for name in cases[0] if cases[0][name] != cases[1][name]]
    assert differ == [name for name in cases[0] if name.startswith("drawn-")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--algorithm", "ncss"], "'ncss' is no algorithm (known: nscc, rccc, reps, flow)"),
        (["--algorithm", "nscc,"], "--algorithm 'nscc,': a name is empty"),
        (["--reading", "htsim,htsim"], "htsim comes twice; name it once"),
        (["--reading", "paper"], "'paper' is no reading"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--out", "file"], "'file' is a file"),
        (["--out", "file/in"], "can't be written: "),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], said: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cli("vectors", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_knows_all_algorithms_and_readings() -> None:
    assert (list(ALGORITHMS), list(READINGS)) == _clearway.vector_names()
    with pytest.raises(ValueError, match="sleek"):
        _clearway.vectors("sleek", "htsim")
