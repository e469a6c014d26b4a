"""Claims of PAC that follow from its text by calculation, its tables of parameters, and what is about its hardware.
Nothing is simulated here.

* **Tables I and II**: each parameter as the figures are simulated with it, read from the profiles `testbed`, `ns2-1g`
  and `ns2-10g` and from the scenarios. Table II's "alpha = 0.8" is lambda (PAC-13).
* **Sizes**: the paper calculates with segments of 1.5 KB, and KB of 1,000 B.
"""

from __future__ import annotations

from typing import Any

import polars as pl

import clearway
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Tables, no_jobs, no_measure
from clearway.reproduce.pac import common, fig07, fig13, fig14

#: Bytes per second of 1 Gbps, and the paper's segment.
GBPS, SEGMENT = 125e6, 1500
#: Round-trip times of sec. III-B in seconds.
RTTS = {"intra_rack": 100e-6, "inter_rack": 250e-6, "p90": 400e-6}
BUFFER = 150e3


def setting(transport: str, profile: str, name: str) -> float:
    """A parameter as a profile sets it, or its default: the number, without its unit."""
    (known,) = (one for one in clearway.transports() if one["name"] == transport)
    (values,) = (one["values"] for one in known["profiles"] if one["name"] == profile)
    (default,) = (one["default"] for one in known["parameters"] if one["name"] == name)
    return float(str(values.get(name, default)).split()[0])


def marking(scenario: dict[str, Any]) -> float:
    """K of a scenario, in packets."""
    return float(scenario["switch"]["marking"].split()[0])


def table_1() -> dict[str, float]:
    """Table I, as Fig. 7 is simulated."""
    scenario = common.incast(common.star(38), {}, senders=10, rounds=1, buffer=fig07.BUFFER)
    return {
        "PAC/ecn_marking_threshold_packets": marking(scenario),
        "PAC/initial_threshold_KB": setting("pac", "testbed", "buffer"),
        "PAC/lambda": setting("pac", "testbed", "lambda"),
        "PAC/priorities": setting("pac", "testbed", "levels"),
        "PAC/flow_size_threshold_KB": setting("pac", "testbed", "demotion"),
        "DCTCP/ecn_marking_threshold_packets": marking(scenario),
        "DCTCP/g": float(fig07.WINDOWS["dctcp"]["g"]),  # type: ignore[arg-type]
        "ICTCP/minimal_window_MSS": setting("ictcp", "testbed", "min_window"),
        "ICTCP/gamma1": setting("ictcp", "testbed", "gamma1"),
        "ICTCP/gamma2": setting("ictcp", "testbed", "gamma2"),
    }


def table_2() -> dict[str, float]:
    """Table II, as Figs. 13 and 14 are simulated."""
    found: dict[str, float] = {}
    for network, profile, scenario in (
        ("1G Network", "ns2-1g", fig13.scenario("quick", "96 KB", {}, 10)),
        ("10G Network", "ns2-10g", fig14.scenario("quick", {}, 10)),
    ):
        found |= {
            f"{network}/MSS_B": 1460.0,
            f"{network}/switch_KB": float(scenario["switch"]["buffer"].split()[0]),
            f"{network}/base_RTT_us": round(base_rtt_us(scenario), 1),
            f"{network}/RTOmin_ms": setting("pac", profile, "rto_min"),
            f"{network}/PAC/initial_threshold_KB": setting("pac", profile, "buffer"),
            f"{network}/PAC/K_packets": marking(scenario),
            f"{network}/PAC/alpha_as_printed": setting("pac", profile, "lambda"),
            f"{network}/ICTCP/minimal_window_MSS": setting("ictcp", "ns2", "min_window"),
            f"{network}/ICTCP/gamma1": setting("ictcp", "ns2", "gamma1"),
            f"{network}/ICTCP/gamma2": setting("ictcp", "ns2", "gamma2"),
            f"{network}/DCTCP/initial_window_MSS": setting("dctcp", "pac-ns2", "initial_window"),
            f"{network}/DCTCP/K_packets": marking(scenario),
            f"{network}/DCTCP/g": float(fig13.WINDOWS["dctcp"]["g"]),  # type: ignore[arg-type]
        }
    return found


def base_rtt_us(scenario: dict[str, Any]) -> float:
    """The round trip of a full frame and its ACK over two links each way, with ns-2's frames, in us."""
    gbps = float(scenario["topology"]["rate"].split()[0])
    header = float(scenario["network"]["overhead"].split()[0])
    frames = 2 * (1460 + header + header) * 8 / gbps / 1e3
    return 4 * float(scenario["topology"]["delay"].split()[0]) + frames


def listed(table: dict[str, float]) -> str:
    """A table of parameters in words."""
    return ", ".join(f"{name}: {value:g}" for name, value in table.items())


def summarise(_: Tables) -> Tables:
    """The tables of parameters, and the formulas."""
    rows = [{"table": name, "parameter": key, "value": value}
            for name, table in (("I", table_1()), ("II", table_2())) for key, value in table.items()]  # fmt: skip
    return {"parameters": pl.DataFrame(rows)}


def check(_: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    limit = {name: (BUFFER + GBPS * 100e-6) / (window * SEGMENT) for name, window in (("ICTCP", 2), ("DCTCP", 3))}
    bdp = {name: GBPS * rtt / 1e3 for name, rtt in RTTS.items()}
    note = "what the figures are simulated with"
    return [
        judge.arithmetic(claim("pac", "sec3b-bdp-versus-buffer"), bdp),
        judge.arithmetic(claim("pac", "eq7-theoretical-connection-limit"), limit),
        judge.arithmetic(claim("pac", "eq9-rtt-lower-bound"), 3 * SEGMENT * 100 / GBPS * 1e3),
        judge.given(
            claim("pac", "fig04-linux-module"),
            "`idle_timeout`; a flow's end removes its state too; the hooks are those of a kernel",
            measured=f"{setting('pac', 'testbed', 'idle_timeout') / 60:g} min",
        ),
        judge.given(claim("pac", "table1-testbed-parameters"), note, measured=listed(table_1())),
        judge.given(claim("pac", "table2-simulation-parameters"), note, measured=listed(table_2())),
        judge.not_applicable(
            claim("pac", "sec4a-cpu-overhead"),
            "CPU load of a Linux kernel module on a Dell PowerEdge R320; a simulator has none",
        ),
    ]


FIGURE = Figure(
    name="pac/text",
    title="PAC: formulas, tables of parameters, and hardware",
    doc=__doc__,
    jobs=no_jobs,
    measure=no_measure,
    summarise=summarise,
    check=check,
    draw=lambda _, __: {},
    claims=(
        "sec3b-bdp-versus-buffer",
        "eq7-theoretical-connection-limit",
        "eq9-rtt-lower-bound",
        "fig04-linux-module",
        "table1-testbed-parameters",
        "table2-simulation-parameters",
        "sec4a-cpu-overhead",
    ),
    shown={"parameters": "Tables I and II as the figures are simulated."},
)
