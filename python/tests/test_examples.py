"""Examples go by their names: in every command, from any folder, in Python, in sweep files, and where installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from conftest import REPOSITORY, SMALL, Cli

import clearway
from clearway import _clearway
from clearway.command import cli as root
from clearway.command.examples import cpu_s, parsed
from clearway.examples import KINDS, NETWORK, SCENARIO, SWEEP, examples, found, names
from clearway.sweeps import copies

FOLDER = REPOSITORY / "scenarios"
#: A short run of the incast of 64 senders.
SHORT = ("--set", "traffic.burst.rounds=1", "--quiet")


def test_every_file_of_the_repository_is_an_example_exactly_once() -> None:
    declared = tomllib.loads((REPOSITORY / "python/clearway/data/examples.toml").read_text("utf-8"))
    listed = [one for part in declared["question"] for one in part["example"]]
    shipped = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.toml"))
    assert sorted(one["file"] for one in listed) == shipped
    assert len({one["name"] for one in listed}) == len(listed) == len(examples())


@pytest.mark.parametrize("name", names())
def test_an_example_has_the_name_of_its_file_and_a_sentence_that_stands_alone(name: str) -> None:
    one = examples()[name]
    path = Path(one.file)
    assert name == (f"lesson-{path.stem}" if path.parent.name == "lessons" else path.stem)
    assert re.fullmatch(r"[a-z0-9-]+", name)
    assert one.question.endswith("?")
    assert re.fullmatch(r"[A-Z0-9].{20,140}[.?]", one.shows)
    assert not re.search(r"\b(below|(first|second|next|last) command)\b|\.md|\.toml", one.shows)


@pytest.mark.parametrize("name", names())
def test_the_command_of_an_example_names_it_and_is_one_that_can_be_called(name: str) -> None:
    one = examples()[name]
    program, command, *words = shlex.split(one.command)
    assert (program, words[0]) == ("clearway", name)
    assert command in {SWEEP: ["sweep"], NETWORK: ["show"]}.get(one.kind, ["run", "compare"])
    called = root.resolve_command(click.Context(root), [command])[1]
    assert called is not None
    called.make_context(command, words)  # raises an error for an option that is not there
    assert (cpu_s(one, root) > 0) == (one.kind != NETWORK)


@pytest.mark.parametrize("name", names(SCENARIO))
def test_check_accepts_every_scenario_as_its_command_runs_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, given = parsed(examples()[name], root)
    for transport in (given.get("transports") or given.get("transport") or "").split(","):
        call = ["check", name, "--transport", transport] if transport else ["check", name]
        call += ["--stacks", given["stacks"]] if given["stacks"] else []
        call += [word for setting in given["settings"] for word in ("--set", "=".join(setting))]
        root.main(call, standalone_mode=False)
        assert ": can be run" in capsys.readouterr().out


@pytest.mark.parametrize("name", names(SWEEP))
def test_the_points_of_every_sweep_can_be_run(name: str, cli: Cli, tmp_path: Path) -> None:
    done = cli("sweep", name, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["points"]) >= 30
    assert list(tmp_path.iterdir()) == []


def test_every_command_that_takes_a_scenario_takes_a_name(cli: Cli, tmp_path: Path) -> None:
    for call, written in (
        (["run", "incast", *SHORT], "out/incast-expresspass-traffic.burst.rounds-1"),
        (["compare", "incast", "--transports", "dctcp", *SHORT], "out/incast-traffic.burst.rounds-1"),
        (["check", "deadlock"], None),
        (["show", "incast"], "incast.svg"),
        (["show", "ring", "--path", "h0", "h2"], "ring.svg"),
        (["plan", "buffers", "incast"], None),
    ):
        done = cli(*call)
        assert (done.returncode, done.stderr.count("Error")) == (0, 0), done.stderr
        assert written is None or (tmp_path / written).exists(), call
    assert clearway.load(tmp_path / "out/incast-expresspass-traffic.burst.rounds-1").name == "incast"


def test_view_takes_a_name_and_a_folder_of_results_of_that_name_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clearway.view.sources import Asked, opened

    monkeypatch.chdir(tmp_path)
    call = root.resolve_command(click.Context(root), ["view"])[1]
    assert call is not None
    (path,) = call.make_context("view", ["deadlock"]).params["sources"]
    assert path == FOLDER / "deadlock.toml"
    assert [scene.name for scene in opened([path], Asked()).scenes] == ["deadlock"]
    (tmp_path / "deadlock").mkdir()
    assert call.make_context("view", ["deadlock"]).params["sources"] == (Path("deadlock"),)
    assert found("deadlock", SCENARIO) == path, "a folder is no scenario"


def test_python_takes_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    one_round = {"traffic.burst.rounds": 1}
    by_path = clearway.run(FOLDER / "incast.toml", set=one_round)
    assert clearway.run("incast", set=one_round).hash == by_path.hash
    assert clearway.open("incast", set=one_round).finish().hash == by_path.hash
    assert clearway.compare("incast", ["expresspass"], set=one_round).runs["expresspass"].hash == by_path.hash
    swept = clearway.sweep("incast", {"seed": [1]}, set=one_round, processes=1)
    assert (swept.name, swept.failures.height) == ("incast-sweep", 0)
    with pytest.raises(clearway.ScenarioError, match=r'^incats: there is no such .*; did you mean "incast"\?'):
        clearway.run("incats")


def test_a_sweep_file_takes_a_name_and_a_file_beside_it_goes_before_the_example(tmp_path: Path) -> None:
    sweep = tmp_path / "mine.toml"
    sweep.write_text('scenario = "incast"\n[axes]\nseed = [1, 2]\n')
    spec = copies.read(sweep)
    assert [spec.load(choice).name for choice in spec.choices()] == ["incast", "incast"]
    (tmp_path / "incast").write_text(SMALL)
    spec = copies.read(sweep)
    assert [spec.load(choice).name for choice in spec.choices()] == ["small", "small"]


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("incats", 'incats: there is no such file or example; did you mean "incast"?'),
        ("sub/incats", 'sub/incats: can\'t be read: No such file or directory; did you mean "incast"?'),
        ("evaluation", "scenario = evaluation: is a sweep, not a scenario; `clearway sweep evaluation` runs it"),
    ],
)
def test_a_sweep_file_with_a_wrong_name_is_refused_in_a_line(
    scenario: str, message: str, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(f'scenario = "{scenario}"\n[axes]\nseed = [1, 2]\n')
    done = cli("sweep", "mine.toml", "--dry-run")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("clearway: mine.toml: ")
    assert message in done.stderr


def test_a_file_of_that_name_goes_before_the_example_and_a_line_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "incast").write_text(SMALL)
    done = cli("run", "incast", "--out", "mine")
    assert done.returncode == 0, done.stderr
    assert "incast: this is what the current folder has by that name, not the example\n" in done.stderr
    assert clearway.load(tmp_path / "mine").name == "small"
    assert cli("run", "incast", "--out", "quiet", "--quiet").stderr == ""
    assert cli("run", "-q", "incast", "--out", "quiet", "--force").stderr == ""
    assert cli("check", "./incast").stderr == "", "a path is no name, so that nothing is to be said"


def test_a_file_with_the_name_and_an_ending_is_told_apart_from_the_example(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(SMALL)
    done = cli("check", "incast")
    assert done.stdout.startswith("incast: can be run")
    line = "incast: this is the example that comes with Clearway; the file in the current folder is incast.toml\n"
    assert done.stderr == line
    assert (cli("check", "incast.toml").stdout.splitlines()[0], cli("check", "dumbbell").stderr) == (
        "small: can be run",
        "",
    )


def test_a_scenario_of_the_repository_is_no_other_file_than_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    from clearway.examples import remark

    monkeypatch.chdir(FOLDER)
    assert remark("incast") is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("run incats", 'incats: there is no such file or example; did you mean "incast"?'),
        ("compare websaerch --transports dctcp", 'did you mean "websearch"?'),
        ("check lesson_pfc", 'did you mean "lesson-pfc"?'),
        ("view deadlok", 'did you mean "deadlock"?'),
        ("sweep evalution", 'did you mean "evaluation"?'),
        ("show incats", 'did you mean "incast"?'),
        ("new --from incats", 'did you mean "incast"?'),
        ("run smal.toml", 'smal.toml: can\'t be read: No such file or directory; did you mean "small.toml"?'),
        ("run smal", 'smal: there is no such file or example; did you mean "small.toml"?'),
        ("check sub/innr.toml", 'innr.toml: can\'t be read: No such file or directory; did you mean "sub/inner.toml"?'),
        ("run scenarios/incast.toml", 'did you mean "incast"?'),
        ("run incast.toml", 'incast.toml: can\'t be read: No such file or directory; did you mean "incast"?'),
        ("show incast.toml", 'did you mean "incast"?'),
        ("run ./incast", 'did you mean "incast"?'),
        ("run evaluation", "evaluation: is a sweep, not a scenario; `clearway sweep evaluation` runs it"),
        ("check ring", "ring: is a network, not a scenario; `clearway show ring` draws it"),
        ("sweep incast", "incast: is a scenario, not a sweep; `clearway run incast` runs it"),
        ("show buffers", "buffers: is a sweep, not a scenario; `clearway sweep buffers` runs it"),
        ("run nothing-like-it", "nothing-like-it: there is no such file or example (`clearway list scenarios`"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_refused_in_a_line_that_says_what_would_be_right(
    call: str, message: str, cli: Cli, small: Path
) -> None:
    (small.parent / "sub").mkdir()
    (small.parent / "sub" / "inner.toml").write_text(SMALL)
    done = cli(*call.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert message in done.stderr


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "", "."])
def test_a_strange_name_is_refused_in_a_line(name: str) -> None:
    with pytest.raises(clearway.Error) as caught:
        clearway.run(name)
    assert "\n" not in str(caught.value)


def test_a_shape_goes_before_an_example_of_its_name(cli: Cli) -> None:
    shape = json.loads(cli("show", "dumbbell", "pairs=3", "--json").stdout)
    assert shape["hosts"] == 6


def test_new_copies_an_example_once(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "--from", "incast")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "incast.toml: run it with clearway run incast.toml\n"
    copy = (tmp_path / "incast.toml").read_text("utf-8")
    assert tomllib.loads(copy) == tomllib.loads((FOLDER / "incast.toml").read_text("utf-8"))
    assert "#   clearway compare incast.toml " in copy, "the commands at its head are those of the copy"
    again = cli("new", "--from", "incast")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "incast.toml: is there already" in again.stderr
    assert (tmp_path / "incast.toml").read_text("utf-8") == copy
    assert cli("new", "-", "--from", "incast").stdout == (FOLDER / "incast.toml").read_text("utf-8")


@pytest.mark.parametrize("name", names(SCENARIO, SWEEP))
def test_a_copy_of_every_example_is_the_same_as_the_example(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root.main(["new", "--from", name, "mine.toml"], standalone_mode=False)
    one = examples()[name]
    if one.kind == SWEEP:
        texts = [
            [spec.load(choice).to_toml() for choice in spec.choices()]
            for spec in (copies.read(one.path), copies.read("mine.toml"))
        ]
    else:
        texts = [[_clearway.Scenario.load(path).to_toml()] for path in (one.path, "mine.toml")]
    first, second = ([re.sub(r'^(name|path) = ".*"$', "", text, flags=re.MULTILINE) for text in all_] for all_ in texts)
    assert first == second


def test_a_copy_brings_the_files_that_it_reads_and_replaces_none(cli: Cli, tmp_path: Path) -> None:
    assert cli("new", "--from", "deadlock").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deadlock.toml", "ring.toml"]
    assert cli("check", "deadlock.toml").returncode == 0
    assert cli("new", "--from", "deadlock", "second.toml").returncode == 0, "the ring is there, and is the same"
    (tmp_path / "ring.toml").write_text("# mine\n")
    for words in (["third.toml"], ["ring.toml"], ["-"]):
        refused = cli("new", "--from", "deadlock", *words)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert (tmp_path / "ring.toml").read_text() == "# mine\n"
    assert not (tmp_path / "third.toml").exists()


def test_an_example_is_copied_as_it_is(cli: Cli, tmp_path: Path) -> None:
    for words in (["--shape", "star"], ["--transport", "dctcp"], ["--pattern", "flows"], ["--workload", "web-search"]):
        refused = cli("new", "--from", "incast", *words)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert f"{words[0]}: the example incast is copied as it is" in refused.stderr
    neither = cli("new")
    assert (neither.returncode, neither.stderr.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_the_list_has_each_example_below_its_question_with_its_command_and_its_cost(cli: Cli) -> None:
    done = cli("list", "scenarios")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    question = ""
    for one in examples().values():
        if one.question != question:
            question = one.question
            assert lines.count(question) == 1
        at = lines.index(f"  {one.name}")
        assert [line for line in lines[:at] if line and not line.startswith(" ")][-1] == question
        about = next(line for line in lines[at:] if line.startswith("    clearway "))
        command, _, cost = about.strip().partition("  # ")
        assert command == one.command
        assert re.fullmatch(r"about \d+ \w+ of CPU time" if one.kind != NETWORK else "no simulation", cost)
        assert one.shows in " ".join(" ".join(lines[at : lines.index(about)]).split())
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_cost_of_a_command_is_that_of_its_simulations(cli: Cli) -> None:
    listed = {one["name"]: one for one in json.loads(cli("list", "scenarios", "--json").stdout)}
    assert set(listed["incast"]) == {"name", "kind", "question", "summary", "command", "cpu_s", "text"}
    asked = [
        json.loads(cli("check", "incast", "--transport", transport, "--stacks", "equal", "--json").stdout)
        for transport in ("expresspass", "dctcp", "newreno")
    ]
    assert listed["incast"]["cpu_s"] == pytest.approx(sum(one["estimate"]["cpu_s"] for one in asked))
    assert {one["kind"] for one in listed.values()} == {*KINDS}


def test_the_list_prints_the_file_of_an_example_and_says_what_else_it_reads(cli: Cli) -> None:
    for name in ("buffers", "deadlock"):
        done = cli("list", "scenarios", name)
        assert done.stdout == examples()[name].path.read_text("utf-8")
    assert done.stderr.startswith("deadlock: reads networks/ring.toml too")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the package as a wheel installs it: away from the repository, with the examples in its data."""
    package = REPOSITORY / "python" / "clearway"
    place = tmp_path / "site" / "clearway"
    place.mkdir(parents=True)
    for path in package.iterdir():
        if path.name != "data":
            (place / path.name).symlink_to(path)
    shutil.copytree(package / "data", place / "data", ignore=shutil.ignore_patterns("scenarios"))
    return place


def run_installed(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    folder = installed.parent.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "clearway", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_package_has_the_examples_that_make_copies_into_it(installed: Path) -> None:
    shutil.copytree(FOLDER, installed / "data" / "scenarios")
    assert run_installed(installed, "run", "incast", *SHORT).returncode == 0
    assert run_installed(installed, "check", "lesson-pfc").returncode == 0
    assert run_installed(installed, "sweep", "buffers", "--dry-run").returncode == 0
    listed = json.loads(run_installed(installed, "list", "scenarios", "--json").stdout)
    assert [one["name"] for one in listed] == list(examples())


def test_a_package_without_the_examples_says_so_in_a_line(installed: Path) -> None:
    for words in (["run", "incast"], ["list", "scenarios"], ["new", "--from", "incast"]):
        done = run_installed(installed, *words)
        assert (done.returncode, done.stdout.count("clearway"), done.stderr.count("\n")) == (2, 0, 1), done.stderr
        assert "the examples are not in this installation" in done.stderr


def test_a_wheel_takes_the_examples_that_make_copies() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    taken = [one["path"] for one in project["tool"]["maturin"]["include"] if one["format"] == "wheel"]
    assert "python/clearway/data/scenarios/**/*.toml" in taken
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    assert re.search(r"^wheel: .*\bexamples\b", makefile, flags=re.MULTILINE)
    assert "\tcp -R scenarios python/clearway/data/scenarios\n" in makefile
    assert all(path.suffix == ".toml" for path in FOLDER.rglob("*") if path.is_file())
