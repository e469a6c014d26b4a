"""The lessons: their front matter leads somewhere, and what their sentences say is what the engine does."""

import re
from pathlib import Path

import polars as pl
import pytest

import clearway
from clearway.stepping import Stepped

REPOSITORY = Path(__file__).parents[2]
LESSONS = sorted(path for path in (REPOSITORY / "docs/lessons").glob("*.md") if path.name != "README.md")
SCENARIOS = REPOSITORY / "scenarios/lessons"
TRANSPORTS = {str(transport["name"]) for transport in clearway.transports()}


def front_matter(page: Path) -> dict[str, str]:
    """The fields of a lesson."""
    found = re.match(r"---\n(.*?)\n---\n", page.read_text(), re.DOTALL)
    assert found, f"{page.name} begins with its fields"
    return dict(line.split(": ", 1) for line in found.group(1).splitlines())


def run(name: str, transport: str | None = None, set: dict[str, str] | None = None) -> clearway.Run:  # noqa: A002
    return clearway.run(SCENARIOS / f"{name}.toml", transport=transport, set=set)


def port(ports: pl.DataFrame, name: str) -> dict[str, int]:
    return ports.row(by_predicate=pl.col("port") == name, named=True)


def stepped(name: str, transport: str, until: str) -> Stepped:
    opened = clearway.open(SCENARIOS / f"{name}.toml", transport=transport)
    opened.step(until=until)
    return opened


def gbps(of: clearway.Run, entity: str, since_s: float, until_s: float) -> float:
    """The mean rate of an entity of samples, or of all whose names begin so, in Gbit/s."""
    rates = of.samples.filter(
        (pl.col("quantity") == "throughput_bps") & pl.col("entity").str.starts_with(entity),
        (pl.col("time_s") > since_s + 1e-9) & (pl.col("time_s") < until_s + 1e-9),
    )
    total: float = rates.group_by("time_s").agg(pl.col("value").sum())["value"].mean()  # type: ignore[assignment]
    return total / 1e9


def queue(of: clearway.Run, since_s: float) -> float:
    waiting = of.samples.filter((pl.col("quantity") == "queue_bytes") & (pl.col("time_s") > since_s))
    mean: float = waiting["value"].mean()  # type: ignore[assignment]
    return mean


def fcts_ms(of: clearway.Run) -> list[float]:
    return sorted((of.flows["fct_s"] * 1e3).to_list())


def test_lessons_are_six_in_order_and_the_scenarios_are_theirs() -> None:
    fields = [front_matter(page) for page in LESSONS]
    assert sorted(int(one["order"]) for one in fields) == [1, 2, 3, 4, 5, 6]
    assert {one["scenario"] for one in fields} == {path.name for path in SCENARIOS.glob("*.toml")}


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_a_lesson_names_a_scenario_transports_and_a_port_that_there_are(page: Path) -> None:
    fields = front_matter(page)
    assert set(fields) == {"title", "order", "scenario", "left", "right", "start", "speed", "watch", "picture"}
    assert f"# {fields['title']}\n" in page.read_text()
    assert {fields["left"], fields["right"]} <= TRANSPORTS | {"own", "none"}
    transport = None if fields["left"] == "own" else fields["left"]
    opened = clearway.open(SCENARIOS / fields["scenario"], transport=transport)
    assert opened.step(until=fields["start"]), "the run goes on where the lesson begins"
    assert fields["watch"] in opened.ports["port"].to_list()
    assert re.fullmatch(r"[\d.]+ us/s", fields["speed"])


def test_incast() -> None:
    full = stepped("incast", "dctcp", "16 us").ports
    assert port(full, "s0->h0")["queue_bytes"] > 95_000
    dctcp, granted = run("incast", "dctcp"), run("incast", "expresspass")
    assert dctcp.ports["drops_buffer"].sum() == 24
    assert dctcp.ports["marks"].sum() > 0
    assert fcts_ms(dctcp)[-1] == pytest.approx(0.44, abs=0.005)
    assert dctcp.flows["timeouts"].sum() == 0
    assert port(granted.ports, "s0->h0")["queue_max_bytes"] == 1538
    assert granted.ports["drops_buffer"].sum() == 0
    assert fcts_ms(granted)[-1] == pytest.approx(0.53, abs=0.005)
    twice = {"topology.hosts": "17", "traffic.answers.senders": "16"}
    many, many_granted = run("incast", "dctcp", set=twice), run("incast", "expresspass", set=twice)
    assert fcts_ms(many)[-1] > 10, "the timer of 10 ms"
    assert fcts_ms(many_granted)[-1] == pytest.approx(2 * 0.53, abs=0.05)


def test_credits() -> None:
    early, late = (stepped("credits", "expresspass", until).ports for until in ("200 us", "300 us"))
    sent = port(late, "h0->s0")["tx_credits"] - port(early, "h0->s0")["tx_credits"]
    assert 100 / sent == pytest.approx(1.3, abs=0.02)
    granted, dctcp = run("credits", "expresspass"), run("credits", "dctcp")
    assert port(granted.ports, "h0->s0")["drops_credit"] == 53
    assert granted.flows["credits_sent"].sum() == 539
    assert granted.flows["credits_wasted"].sum() == 74
    assert port(granted.ports, "s0->h0")["queue_max_bytes"] == 1538
    assert port(dctcp.ports, "s0->h0")["queue_max_bytes"] == pytest.approx(255_000, abs=500)
    assert fcts_ms(granted)[-1] == pytest.approx(0.67, abs=0.005)
    assert fcts_ms(dctcp)[-1] == pytest.approx(0.54, abs=0.006)


def test_convergence() -> None:
    granted, dctcp = run("convergence", "expresspass"), run("convergence", "dctcp")
    assert gbps(granted, "flows/1", 1.45e-3, 1.5e-3) == pytest.approx(3.5, abs=0.05)
    assert gbps(dctcp, "flows/1", 1.15e-3, 1.2e-3) == pytest.approx(4.7, abs=0.05)
    shares = [gbps(of, f"flows/{flow}", 3e-3, 4e-3) for of in (granted, dctcp) for flow in (0, 1)]
    assert shares == pytest.approx([4.6, 4.4, 7.6, 1.8], abs=0.06)
    assert port(granted.ports, "s0->s1")["queue_max_bytes"] == 1538
    assert port(dctcp.ports, "s0->s1")["queue_max_bytes"] == pytest.approx(220_000, abs=500)
    assert queue(dctcp, 3e-3) == pytest.approx(93_000, abs=3_000)


def test_pfc() -> None:
    assert stepped("pfc", "rocev2", "44 us").ports["pauses"].sum() == 0
    hosts = stepped("pfc", "rocev2", "46 us").ports
    assert hosts.filter(pl.col("pauses") > 0)["port"].to_list() == [f"h{at}->s{at}" for at in range(5)]
    ring = [f"s{at}->s{(at + 1) % 5}" for at in range(5)]
    later = stepped("pfc", "rocev2", "71 us")
    assert all(port(later.ports, name)["is_paused"] for name in ring)
    stuck, moving = run("pfc", "rocev2"), run("pfc", "hpcc")
    assert stuck.summary["ended"] == "deadlocked"
    assert stuck.summary["flow_control"]["circle"] == ring
    assert stuck.flows["delivered_bytes"].to_list() == [315_360] * 5
    assert moving.ports["pauses"].sum() == 0
    assert fcts_ms(moving)[-1] == pytest.approx(0.19, abs=0.005)


def test_ec4() -> None:
    other = {"traffic.credits.transport": '{ name = "expresspass" }'}
    sides = (run("ec4"), run("ec4", set=other))
    shares = [gbps(of, kind, 5e-3, 10e-3) for of in sides for kind in ("credits", "windows")]
    assert shares == pytest.approx([6.0, 3.5, 8.9, 0.1], abs=0.06)
    assert [queue(of, 3e-3) for of in sides] == pytest.approx([132_000, 257_000], abs=1_000)
    assert queue(sides[1], 9e-3) > queue(sides[1], 5e-3) > queue(sides[1], 3e-3), "the queue on the right grows"


def test_pac() -> None:
    pac, newreno = run("pac", "pac"), run("pac", "newreno")
    assert newreno.ports["drops_buffer"].sum() == 125
    assert newreno.flows["timeouts"].sum() == 3
    assert sum(time > 10 for time in fcts_ms(newreno)) == 3
    assert pac.summary["shims"][0]["acks_held_max"] == 110
    assert 90_000 < port(pac.ports, "s0->h0")["queue_max_bytes"] < 91_000
    assert pac.ports["drops_buffer"].sum() == 0
    assert fcts_ms(pac)[-1] == pytest.approx(0.67, abs=0.005)
    assert [fcts_ms(of)[0] for of in (newreno, pac)] == pytest.approx([0.31, 0.53], abs=0.006)
