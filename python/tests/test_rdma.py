"""RDMA and flow control as a user meets them: what is printed, what is reported, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import REPOSITORY, Cli
from test_same_everywhere import RDMA

import clearway
from clearway.comparison import headline
from clearway.report import page
from clearway.texts import NAMED, network_texts, warning_texts

SCENARIOS = REPOSITORY / "scenarios"
RING = SCENARIOS / "deadlock.toml"


@pytest.fixture(scope="module")
def stuck() -> clearway.Run:
    return clearway.run(RING)


def rows(runs: dict[str, clearway.Run]) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in network_texts(runs)[1]}


def test_pauses_and_notifications_are_printed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rdma.toml").write_text(RDMA)
    done = cli("run", "rdma.toml")
    assert done.returncode == 0, done.stderr
    (saved,) = (tmp_path / "out").iterdir()
    run = clearway.load(saved)
    shown = rows({"dcqcn": run})
    control = run.summary["flow_control"]
    assert control["pauses"] == run.ports["pauses"].sum() > 0
    assert shown["pauses (flow control)"] == [f"{control['pauses']:,}"]
    assert shown["notifications of congestion (CNPs)"] == [f"{run.summary['notices']:,}"]
    assert shown["ports in a pause storm"] == ["0"]
    for words in ("pauses (flow control)", "longest pause of a port", "notifications of congestion"):
        assert words in done.stdout
    assert "DEADLOCK" not in done.stdout


def test_runs_without_flow_control_do_not_speak_of_it() -> None:
    run = clearway.run(RDMA, transport="dctcp")
    assert "flow_control" not in run.summary
    assert not [label for label in rows({"dctcp": run}) if "pause" in label or "CNP" in label]
    assert headline(run)["pauses"] is None
    both = rows({"dctcp": run, "dcqcn": clearway.run(RDMA)})
    assert both["pauses (flow control)"][0] == "off"
    assert both["pauses (flow control)"][1] != "off"


def test_a_deadlock_ends_the_run_soon_and_says_who_waits_for_whom(stuck: clearway.Run) -> None:
    assert stuck.summary["ended"] == "deadlocked"
    # Ports are looked at every 500 us, and named once they have been stopped for so long.
    assert stuck.summary["simulated_s"] < 1.6e-3
    control = stuck.summary["flow_control"]
    circle = [port.split("->") for port in control["circle"]]
    assert len(circle) == 5
    assert all(end == begin for (_, end), (begin, _) in zip(circle, circle[1:] + circle[:1], strict=True))
    assert set(control["circle"]) < set(control["deadlock"])
    assert len(control["deadlock"]) == 10


def test_a_deadlock_is_told_with_what_to_do_by_the_command_and_in_the_report(cli: Cli, stuck: clearway.Run) -> None:
    (text,) = warning_texts({"rocev2": stuck})
    for words in ("s0->s1, s1->s2, s2->s3, s3->s4, s4->s0", "h0->s0", "5 of 5", "switch.shared_buffer", "hpcc"):
        assert words in text
    shown = " ".join(cli("run", RING).stdout.split())
    assert text in shown
    assert "(deadlocked)" in shown
    assert "<strong>Warning.</strong> rocev2: DEADLOCK." in page([stuck], "Stuck")


@pytest.mark.parametrize("way", [{"set": {"switch.pfc": "false"}}, {"transport": "hpcc"}])
def test_what_the_advice_names_helps(way: dict[str, object]) -> None:
    run = clearway.run(RING, **way)  # type: ignore[arg-type]
    assert run.summary["ended"] == "complete"
    assert run.summary["flows_completed"] == 5
    assert not warning_texts({"": run})


def test_a_storm_names_the_ports_but_not_all_of_many() -> None:
    run = clearway.run(SCENARIOS / "rdma-incast.toml", transport="rocev2", set={"switch.pfc_storm": "1 ms"})
    storms = run.summary["flow_control"]["storms"]
    assert len(storms) > NAMED
    (text,) = warning_texts({"rocev2": run})
    assert "PAUSE STORM" in text
    assert ", ".join(storms[:NAMED]) + f" and {len(storms) - NAMED} more" in text
    assert rows({"": run})["ports in a pause storm"] == [str(len(storms))]


def test_the_report_shows_totals_of_flow_control() -> None:
    runs = list(clearway.compare(RDMA, ["rocev2", "hpcc"]).runs.values())
    text = page(runs, "RDMA")
    assert "pauses (flow control)" in text
    assert "warning" not in text.partition("</style>")[2]


def test_every_rdma_transport_runs_in_the_incast_without_loss(cli: Cli) -> None:
    transports = "rocev2,dcqcn,timely,hpcc,rdma-dctcp,pacc"
    done = cli("compare", SCENARIOS / "rdma-incast.toml", "--transports", transports, "--json")
    answer = json.loads(done.stdout)
    assert list(answer) == transports.split(",")
    for name, run in answer.items():
        head = run["headline"]
        assert (head["drops"], head["flows_completed"], head["deadlocked_ports"]) == (0, 255, 0), name
    assert answer["rocev2"]["headline"]["pauses"] > 255


def test_classes_of_their_own_share_the_link_between_credits_and_rdma() -> None:
    run = clearway.run(SCENARIOS / "rdma-mix.toml")
    share = {
        name: run.flows.filter(run.flows["traffic"] == name)["delivered_bytes"].to_numpy().sum() * 8 / 10e-3 / 25e9
        for name in ("credited", "rdma")
    }
    assert share["credited"] > 0.35, share
    assert share["rdma"] > 0.2, share
    assert headline(run)["drops"] == 0


TWO = """\
[topology]
kind = "star"
hosts = 4

[[traffic]]
name = "a"
kind = "incast"
senders = 2
transport = "hpcc"

[[traffic]]
name = "b"
kind = "incast"
senders = 2
transport = "pacc"
"""

CLASSES = RDMA.replace("[[traffic]]", '[[switch.class]]\nname = "only"\nlossless = false\n\n[[traffic]]')

#: What is set -> what the message says.
REFUSED: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "a wrong word": (RDMA, {"switch.pfc_treshold": "1"}, ["switch.pfc_treshold", "unknown key"]),
    "no truth value": (RDMA, {"switch.pfc": "maybe"}, ["switch.pfc", '"maybe"', "true or false"]),
    "a size without unit": (RDMA, {"switch.pfc_headroom": "10"}, ["switch.pfc_headroom", "has no unit"]),
    "a share of nothing": (RDMA, {"switch.pfc_alpha": "0"}, ["switch.pfc_alpha", "from 0.0001 to 1000"]),
    "a size for a time": (RDMA, {"switch.pfc_storm": "5 KB"}, ["switch.pfc_storm", "write a time"]),
    "a buffer of ports": (
        RDMA,
        {"switch.pfc": "true", "switch.buffer": "1 MB"},
        ["switch.buffer", "contradicts flow control", "set shared_buffer, or pfc = false"],
    ),
    "a buffer that turns it off": (
        RDMA,
        {"switch.buffer": "1 MB", "switch.pfc_alpha": "0.2"},
        ["switch.pfc_alpha", "a buffer of ports is given", "remove"],
    ),
    "keys of what is off": (
        RDMA,
        {"switch.pfc": "false", "switch.pfc_alpha": "0.2"},
        ["switch.pfc_alpha", "means nothing without flow control", "set pfc = true"],
    ),
    "too little memory": (
        RDMA,
        {"switch.shared_buffer": "100 KB"},
        ["switch.shared_buffer", "too small", "headrooms and reserves of s0", "write more"],
    ),
    "a protection of nothing": (CLASSES, {"switch.pfc": "true"}, ["switch.pfc", "no class is lossless"]),
    "a late begin of marks": (
        RDMA,
        {"switch.red_kmin": "2 MB"},
        ["switch.red_kmin", "above red_kmax, which is 200 KB unless set", "write less"],
    ),
    "an early end of marks": (
        RDMA,
        {"switch.red_kmax": "2 KB"},
        ["switch.red_kmax", "below red_kmin, which is 5 KB unless set", "write more"],
    ),
    "marks that end before they begin": (
        RDMA,
        {"switch.red_kmin": "2 MB", "switch.red_kmax": "1 MB"},
        ["switch.red_kmin", "above red_kmax, 1 MB"],
    ),
    "more than sure": (RDMA, {"switch.red_pmax": "1.5"}, ["switch.red_pmax", "from 0 to 1"]),
    "marks for nobody": (
        RDMA,
        {"transport.name": "hpcc", "switch.red_kmin": "1 KB"},
        ["switch.red_kmin", 'no class marks by "red"'],
    ),
    "two things of a port": (TWO, {}, ["hpcc and pacc", "telemetry and PACC controller", "one of the two"]),
    "two kinds of marks": (
        TWO,
        {"traffic.a.transport": "dcqcn", "traffic.b.transport": "dctcp"},
        ["switch.marking", "dcqcn and dctcp", "different kinds", "for each class"],
    ),
    "a way to recover": (RDMA, {"transport.recovery": "forward"}, ['"go-back-n" or "selective-repeat"']),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_said_in_one_line_with_key_value_and_what_would_be_right(what: str) -> None:
    text, settings, words = REFUSED[what]
    with pytest.raises(clearway.ScenarioError) as caught:
        clearway.run(text, set=settings)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message
