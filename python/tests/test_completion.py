"""Completion in the shell, by click's machinery and in a real bash; suggestions for names that are wrong."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMALL, Cli

from clearway import _clearway
from clearway.command import COMMANDS, cli
from clearway.command.completion import SHELLS, Bash
from clearway.command.names import figures, topologies
from clearway.examples import NETWORK, SCENARIO, SWEEP, names
from clearway.scenario.keys import settable

TRANSPORTS = [one["name"] for one in _clearway.transports()]
WORKLOADS = [one["name"] for one in _clearway.workloads()]


def completed(line: str, monkeypatch: pytest.MonkeyPatch, breaks: str = "") -> list[str]:
    """The completions of a line whose end is the cursor, as bash would get them."""
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line.encode())))
    monkeypatch.setenv("COMP_WORDBREAKS", breaks)
    text = Bash(cli, {}, "clearway", "_CLEARWAY_COMPLETE").complete()
    return [one.partition(",")[2] for one in text.splitlines()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario, a run and something else, in which the test is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "out" / "small").mkdir(parents=True)
    (tmp_path / "out" / "small" / "summary.json").write_text(json.dumps({"clearway": "0"}))
    return tmp_path


CASES = {
    "clearway r": ["report", "reproduce", "run"],
    "clearway run ": ["out/", "small.toml", *names(SCENARIO)],
    "clearway view ": ["out/", "small.toml", *names(SCENARIO)],
    "clearway sweep ": ["out/", "small.toml", *names(SWEEP)],
    "clearway show ": ["out/", "small.toml", *dict.fromkeys([*names(SCENARIO, NETWORK), *topologies()])],
    "clearway run incast": ["incast", "incast-trace"],
    "clearway compare lesson-p": ["lesson-pac", "lesson-pfc"],
    "clearway check ./": ["./out/", "./small.toml"],
    "clearway show rin": ["ring"],
    "clearway show dumb": ["dumbbell"],
    "clearway sweep ev": ["evaluation"],
    "clearway new --from evalu": ["evaluation"],
    "clearway list scenarios lesson-e": ["lesson-ec4"],
    "clearway run incast --set traffic.burst.se": ["traffic.burst.senders="],
    "clearway view out/": ["out/small"],
    "clearway view small.toml --transports dctcp,exp": ["dctcp,expresspass", "dctcp,expresspass-hotnets16"],
    "clearway run s": ["small.toml", "shuffle"],
    "clearway run small.toml --transport exp": ["expresspass", "expresspass-hotnets16"],
    "clearway compare small.toml --transports dctcp,exp": ["dctcp,expresspass", "dctcp,expresspass-hotnets16"],
    "clearway run small.toml --set swi": None,
    "clearway run small.toml --set topology.": ["topology.hosts=", "topology.rate=", "topology.delay="],
    "clearway run small.toml --set traffic.burst.se": ["traffic.burst.senders="],
    "clearway run small.toml --set network.routing=e": ["network.routing=ecmp", "network.routing=entropy"],
    "clearway run small.toml --set network.whole_ns=": ["network.whole_ns=true", "network.whole_ns=false"],
    "clearway run small.toml --set transport.w_i": ["transport.w_init="],
    "clearway run small.toml --transport dctcp --set transport.g": ["transport.g="],
    "clearway run small.toml --stacks ": ["own", "equal"],
    "clearway new a.toml --workload web-se": [name for name in WORKLOADS if name.startswith("web-se")],
    "clearway new a.toml --shape l": ["leaf-spine"],
    "clearway list tr": ["transports"],
    "clearway list transports hp": ["hpcc"],
    "clearway list topologies fat": ["fat-tree"],
    "clearway reproduce pacc/fig0": [name for name in figures() if name.startswith("pacc/fig0")],
    "clearway report out/": ["out/small"],
    "clearway plan buffers fat": ["fat-tree"],
    "clearway plan buffers dumbbell pairs=8 bot": ["bottleneck_rate=", "bottleneck_delay="],
    "clearway completion f": ["fish"],
    "clearway v": ["vectors", "view"],
    "clearway vectors --algorithm nscc,r": ["nscc,rccc", "nscc,reps"],
    "clearway vectors --reading h": ["htsim"],
}  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", CASES)
def test_words_are_completed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = CASES[line]
    if expected is None:
        names = [table["keys"] for table in _clearway.scenario_tables() if table["path"] == "switch"]
        expected = [f"switch.{key['name']}=" for key in names[0] if key["forms"][0]["form"] != "tables"]
        assert "switch.buffer=" in expected
    assert expected
    assert completed(line, monkeypatch) == expected


@pytest.mark.usefixtures("here")
def test_bash_gets_the_part_behind_the_equals_sign_that_ends_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "clearway run small.toml --set network.routing=e"
    assert completed(line, monkeypatch, breaks=" \t\n\"'><=;|&(:") == ["ecmp", "entropy"]
    assert completed("clearway run small.toml --set=network.rou", monkeypatch, breaks="=") == ["network.routing="]


def test_all_commands_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed("clearway ", monkeypatch) == sorted(COMMANDS)


def test_figures_are_those_that_can_be_reproduced() -> None:
    import clearway.reproduce

    assert figures() == {name: one.title for name, one in clearway.reproduce.figures().items()}


@pytest.mark.parametrize("path", sorted((REPOSITORY / "scenarios").glob("*.toml")), ids=lambda path: path.name)
def test_every_key_that_is_offered_can_be_set(path: Path) -> None:
    from clearway.scenario.keys import read

    offered = settable(read(path))
    assert any(key.startswith("traffic.") for key in offered)
    problems = []
    for key in offered:
        try:
            _clearway.Scenario.load(path, set=[(key, "no such value")])
        except _clearway.ScenarioError as error:
            problems.append(str(error))
    strange = ("unknown key", "is no parameter", "there is no traffic", "there is no sample", "is no key")
    assert [problem for problem in problems if any(words in problem for words in strange)] == []


def test_completion_imports_no_heavy_package(here: Path) -> None:
    script = "import sys; from clearway.command import guarded; guarded(); print(sorted(sys.modules), file=sys.stderr)"
    line = "clearway run small.toml --set switch.bu"
    env = {**os.environ, "_CLEARWAY_COMPLETE": "bash_complete", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['clearway']\n{script}"], cwd=here, env=env,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "open,switch.buffer=\n"
    assert not any(f"'{heavy}'" in done.stderr for heavy in ("polars", "numpy", "matplotlib", "scipy", "rich"))


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_is_printed(cli: Cli, shell: str) -> None:
    done = cli("completion", shell)
    assert done.returncode == 0, done.stderr
    assert f"_CLEARWAY_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=done.stdout, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_zsh_puts_no_space_behind_a_key(cli: Cli, here: Path) -> None:
    assert 'if [[ "$type" == "open" ]]' in cli("completion", "zsh").stdout
    env = {
        **os.environ,
        "_CLEARWAY_COMPLETE": "zsh_complete",
        "COMP_WORDS": "clearway run small.toml --set switch.bu",
        "COMP_CWORD": "4",
    }
    command = [Path(sys.executable).parent / "clearway"]
    done = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["open", "switch.buffer="]


DRIVER = """\
eval "$(clearway completion bash)"
complete -p clearway
show() {
    COMP_LINE=$1 COMP_POINT=${#1}
    IFS=' ' read -ra COMP_WORDS <<< "$1"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _clearway_completion clearway 2>/dev/null
    printf '[%s]' "${COMPREPLY[@]}"; echo
}
show "clearway run small.toml --set switch.bu"
show "clearway run small.toml --set network.routing=sp"
show "clearway run small.toml --transport dct"
"""


def test_a_real_bash_completes(here: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-i"], input=DRIVER, cwd=here, env={**os.environ, "PATH": path, "PS1": ""},
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(("[", "complete"))]
    assert lines == [
        "complete -o nosort -F _clearway_completion clearway",
        "[switch.buffer=]",
        "[spray]",
        "[dctcp]",
    ], done.stdout + done.stderr


def test_a_real_bash_completes_at_the_tab_key(here: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TERM": "dumb"}
    mine, theirs = os.openpty()
    bash = subprocess.Popen(
        ["bash", "--norc", "-i"], cwd=here, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        shown, until = b"", time.monotonic() + 60
        for typed, awaited in (
            (b'eval "$(clearway completion bash)"; echo rea""dy\n', b"ready"),
            (b"clearway check small.toml --set topo\tho\t9\n", b"star: 9 hosts"),
        ):
            os.write(mine, typed)
            while awaited not in shown and time.monotonic() < until:
                if select.select([mine], [], [], 1)[0]:
                    shown += os.read(mine, 4096)
            assert awaited in shown, shown.decode()
    finally:
        bash.kill()
        bash.wait()
        os.close(mine)
        os.close(theirs)


SUGGESTED = {
    ("run", "small.toml", "--transport", "DCTCP"): "dctcp",
    ("run", "small.toml", "--transport", "expresspas"): "expresspass",
    ("run", "small.toml", "--set", "swich.buffer=1 MB"): "switch",
    ("run", "small.toml", "--set", "switch.bufer=1 MB"): "buffer",
    ("run", "small.toml", "--set", "traffic.brust.size=1 MB"): "burst",
    ("run", "small.toml", "--set", "transport.w_int=1"): "w_init",
    ("run", "small.toml", "--set", "transport.profile=NS2"): "ns2",
    ("run", "small.toml", "--set", "topology.kind=stars"): "star",
    ("run", "small.toml", "--set", "network.routing=ECMP"): "ecmp",
    ("run", "small.toml", "--stacks", "equals"): "equal",
    ("run", "small.toml", "--trasnport", "dctcp"): "--transport",
    ("compare", "small.toml", "--transports", "dctcp,ExpressPass"): "expresspass",
    ("list", "transport"): "transports",
    ("list", "transports", "HPCC"): "hpcc",
    ("list", "topologies", "fattree"): "fat-tree",
    ("list", "workloads", "websearch"): "web-search",
    ("list", "figures", "pacc/fig7"): "pacc/fig07",
    ("list", "scenarios", "incats"): "incast",
    ("run", "incats"): "incast",
    ("run", "smal.toml"): "small.toml",
    ("new", "--from", "websaerch"): "websearch",
    ("new", "a.toml", "--workload", "websearch"): "web-search",
    ("new", "a.toml", "--shape", "leafspine"): "leaf-spine",
    ("reproduce", "pac/fig9"): "pac/fig09",
    ("parity", "ns3"): "ns2",
    ("plan", "buffers", "fattree"): "fat-tree",
    ("plan", "bufers", "fat-tree"): "buffers",
    ("plan", "switch", "star", "--target", "sonik"): "sonic",
    ("plan", "switch", "star", "--target", "sonic", "--switch", "S0"): "s0",
    ("plan", "buffers", "star", "--port", "s0-h0"): "s0->h0",
    ("comapre", "small.toml"): "compare",
    ("RUN", "small.toml"): "run",
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("call", SUGGESTED, ids=" ".join)
def test_a_close_typing_error_gets_a_suggestion(cli: Cli, call: tuple[str, ...]) -> None:
    done = cli(*call)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "did you mean" in done.stderr.lower()
    said = done.stderr.lower().partition("did you mean")[2]
    assert said.strip().startswith((f'"{SUGGESTED[call]}"?', f"'{SUGGESTED[call]}'?"))
